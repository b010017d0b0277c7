"""Uses workspaces, projects and the registry of models by the SDK of the det client."""

import sys

from determined.experimental import client

d = client.Determined(user="admin", password=sys.argv[1])

# Projects.
lab = d.get_workspace("registry")
project = lab.create_project("sdk", description="d")
project.set_description("other")
project.set_key("SDK")
project.add_note("a", "first")
project.add_note("b", "second")
project.remove_note("a")
project.archive()
project.unarchive()
found = lab.get_project("SDK")
assert (found.id, found.key, found.description, found.archived) == (project.id, "SDK", "other", False), vars(found)
assert found.notes == [{"name": "b", "contents": "second"}], found.notes
assert [p.name for p in lab.list_projects()] == ["sdk"]
assert [p.name for p in lab.list_pools()] == ["default"]
assert found.list_experiments() == []
lab.delete_project("sdk")

# Models.
mnist = d.create_model("mnist", "vision", labels=["a", "b"], workspace_name="registry")
assert mnist.metadata == {} and mnist.workspace_id == lab.id and mnist.username == "admin"
mnist.add_metadata({"testing": "metadata"})
mnist.add_metadata({"some_key": "some_value"})
mnist.remove_metadata(["testing"])
mnist.set_labels(["hello", "world"])
mnist.set_description("abcde")
stored = d.get_model(mnist.model_id)
assert stored.name == "mnist" and d.get_model("mnist").model_id == mnist.model_id
assert stored.metadata == {"some_key": "some_value"} and stored.labels == ["hello", "world"], vars(stored)
mnist.set_labels([])
assert d.get_model("mnist").labels == []
mnist.archive()
assert d.get_model("mnist").archived
mnist.unarchive()
assert mnist.get_version() is None and mnist.list_versions() == []
mnist.move_to_workspace("Uncategorized")
other = d.create_model("ac - Dc")
assert [m.name for m in d.list_models(sort_by=client.ModelSortBy.NAME)] == ["ac - Dc", "mnist"]
assert [m.name for m in d.list_models(workspace_names=["registry"])] == []
mnist.set_labels(["world", "hello"])
other.set_labels(["world", "zebra"])
assert d.get_model_labels() == ["world", "hello", "zebra"], d.get_model_labels()
try:
    mnist.register_version("11111111-1111-4111-8111-111111111111")
    raise AssertionError("a checkpoint that does not exist was registered")
except Exception as e:
    assert "not found" in str(e), e
for m in (mnist, other):
    m.delete()
assert d.list_models() == []
print("all is well")
