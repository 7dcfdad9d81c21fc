"""The viewer: a page on this machine's loopback that shows a picture as it converges, and what the page asks for.

In: a scene and settings, or a picture file. Out: an address, HTTP on 127.0.0.1. `live_picture` stands between the
thread that renders (`scene_show`) and those that answer the page (`server`); `page_requests` reads what the page asks
for, and says which command makes the same picture; `terminal` shows a picture where there is no browser.

News go to the page as server-sent events, pictures by GET, requests by POST. So the page fetches a picture when it is
done with the one before, nobody queues pictures for it, and a page that is opened again connects by itself.
"""
