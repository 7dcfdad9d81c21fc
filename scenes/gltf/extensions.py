"""This module knows the extensions of glTF: which are read, which say nothing of how a file looks, and what is done
about those that are not read.

Whatever is not read is left out with a note, also where a file requires it, as most of its picture is there without it.
A file is refused only where nothing of it could be seen.
"""

DRACO = "KHR_draco_mesh_compression"
INSTANCING = "EXT_mesh_gpu_instancing"
LIGHTS = "KHR_lights_punctual"
WEBP = "EXT_texture_webp"
TEXTURE_TRANSFORM = "KHR_texture_transform"
VISIBILITY = "KHR_node_visibility"
#: Extensions that are read, in full or nearly.
READ = frozenset((
    DRACO, INSTANCING, LIGHTS, WEBP, TEXTURE_TRANSFORM, VISIBILITY, "EXT_mesh_primitive_restart",
    "KHR_accessor_float64", "KHR_mesh_primitive_restart", "KHR_mesh_quantization", "KHR_materials_anisotropy",
    "KHR_materials_clearcoat", "KHR_materials_emissive_strength", "KHR_materials_ior",
    "KHR_materials_pbrSpecularGlossiness", "KHR_materials_sheen", "KHR_materials_specular",
    "KHR_materials_transmission", "KHR_materials_unlit", "KHR_materials_volume",
    "KHR_materials_volume_scatter",
))  # fmt: skip
#: Extensions that say nothing of how a file looks: what its parts are, sound, bodies, what follows from a click, and
#: coarser meshes for those who are far away.
UNSEEN = frozenset((
    "AGI_articulations", "AGI_stk_metadata", "EXT_instance_features", "EXT_mesh_features", "EXT_mesh_manifold",
    "EXT_structural_metadata", "FB_geometry_metadata", "GODOT_single_root", "GRIFFEL_bim_data", "KHR_audio_emitter",
    "KHR_implicit_shapes", "KHR_interactivity", "KHR_node_hoverability", "KHR_node_selectability",
    "KHR_physics_rigid_bodies", "KHR_xmp", "KHR_xmp_json_ld", "MSFT_audio_emitter", "MSFT_collision_primitives",
    "MSFT_lod", "MSFT_packing_normalRoughnessMetallic", "MSFT_packing_occlusionRoughnessMetallic", "MSFT_physics",
))  # fmt: skip
#: Extensions without which nothing is seen, and how a file is made that has none.
NEEDED = {
    "EXT_meshopt_compression": "gltf-transform copy IN.glb OUT.glb",
    "KHR_meshopt_compression": "gltf-transform copy IN.glb OUT.glb",
}
#: What is seen instead of that which is not read, or how a file is made that has it otherwise; of others nothing is.
INSTEAD = {
    "EXT_texture_avif": "the pictures beside it, or colours alone, are used",
    "KHR_animation_pointer": "only nodes and weights move",
    "KHR_gaussian_splatting": "its points are left out",
    "KHR_materials_variants": "the file shows its own materials",
    "KHR_techniques_webgl": "surfaces have the default material",
    "KHR_texture_basisu": "the pictures beside it, or colours alone, are used; others that are read are made by "
    "gltf-transform ktxdecompress IN.glb OUT.glb",
    "MSFT_texture_dds": "the pictures beside it, or colours alone, are used",
}
