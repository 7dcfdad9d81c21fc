// A page without a browser: the elements, events and answers that the script of the viewer's page asks for. The script
// comes between this and what is to be done with it.
const elements = {};
function element(id) {
  elements[id] ??= {
    style: {}, dataset: {}, classList: {toggle() {}}, listeners: {}, value: "", length: 4, selectedIndex: 0, width: 1, height: 1,
    clientHeight: 100, clientWidth: 100, textContent: "",
    addEventListener(name, act) { (this.listeners[name] ??= []).push(act); },
    dispatchEvent(event) { (this.listeners[event.type] ?? []).forEach(act => act(event)); },
    click() { this.dispatchEvent({type: "click"}); },
    replaceChildren(...children) { this.children = children; },
    append() {},
    querySelector() { return this.children?.find(one => one.href); },
    getContext: () => ({putImageData(image) { elements.painted = image.data; }}),
    getBoundingClientRect: () => ({width: 100, height: 100, left: 0, top: 0}),
  };
  return elements[id];
}
const keys = [], asked = [];
let made = 0;
globalThis.document = {
  getElementById: element,
  createElement: () => element(`made ${made++}`),
  body: {dataset: {}, classList: {toggle() {}}},
};
globalThis.ImageData = class {
  constructor(width, height) { Object.assign(this, {width, height, data: new Uint8ClampedArray(4 * width * height)}); }
};
globalThis.EventSource = class { addEventListener() {} };
globalThis.Option = class { constructor(text, value) { Object.assign(this, {text, value}); } };
globalThis.devicePixelRatio = 1;
globalThis.addEventListener = (name, act) => { if (name === "keydown") keys.push(act); };
const press = key => keys.forEach(act => act({key, target: {}, preventDefault() {}}));
const bytes = () => Array.from(elements.painted).filter((_, i) => i % 4 < 3);
globalThis.fetch = async (address, options) => {
  if (options) asked.push([address, JSON.parse(options.body)]);
  const head = {"X-Number": 3, "X-Width": GIVEN.facts.size[0], "X-Height": GIVEN.facts.size[1], "X-Channels": 3};
  const numbers = GIVEN.layers[decodeURIComponent(address.split("layer=")[1] ?? "")] ?? [];
  return {ok: true, headers: {get: name => head[name]}, arrayBuffer: async () => new Float32Array(numbers).buffer};
};
