# SPDX-License-Identifier: BSD-3-Clause
"""Checks documents for Kubernetes against the API's own schema, as the models of Debian's python3-kubernetes have it.

    kube_schema.py FILE...

Every document must be of a group, version and kind that can be created; every field must exist there, have its type, and one of
the values that its description lists; what is required must be there. Prints one line for each problem. Exit status: 0, 1 with
problems, 77 where a module is missing.
"""
import inspect
import re
import sys

try:
    import yaml
    from kubernetes import client
except ImportError as missing:
    print(f"skipped: {missing} (Debian: python3-kubernetes)")
    sys.exit(77)

SCALARS = {"str": str, "int": int, "bool": bool, "float": (int, float)}
# How a description begins a list of all values that a field may have.
LISTS_VALUES = re.compile(r"\b(one of|valid (options|values) are|it can be|must be UDP)\b", re.IGNORECASE)


def words_of(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


def model_of(document):
    """The model of what is created by a document of this group, version and kind."""
    version, kind = document.get("apiVersion"), document.get("kind")
    if not isinstance(version, str) or not isinstance(kind, str):
        raise ValueError("apiVersion and kind are needed")
    group, number = version.split("/", 1) if "/" in version else ("core", version)
    api = getattr(client, group.split(".")[0].capitalize() + number.capitalize() + "Api", None)
    place = f"'/apis/{version}/" if "/" in version else f"'/api/{version}/"
    for method in (f"create_namespaced_{words_of(kind)}", f"create_{words_of(kind)}"):
        call = getattr(api, method + "_with_http_info", None)
        if call and place in inspect.getsource(call):
            return getattr(client, re.search(r":param (\S+) body:", call.__doc__).group(1))
    raise ValueError(f"no {kind} can be created in {version}")


def check(value, kind, path, description=""):
    """Yields the problems of a value that shall be of the model's type `kind`."""
    of_list = re.fullmatch(r"list\[(.*)\]", kind)
    of_map = re.fullmatch(r"dict\(str, (.*)\)", kind)
    if of_list or of_map:
        shape, inner = (list, of_list.group(1)) if of_list else (dict, of_map.group(1))
        if not isinstance(value, shape):
            yield f"{path}: is {type(value).__name__}, not {kind}"
            return
        for key, item in enumerate(value) if of_list else value.items():
            if of_map and not isinstance(key, str):
                yield f"{path}: a key is {key!r}, no text"
            yield from check(item, inner, f"{path}[{key!r}]")
    elif kind in SCALARS:
        if not isinstance(value, SCALARS[kind]) or (kind != "bool" and isinstance(value, bool)):
            yield f"{path}: is {type(value).__name__}, not {kind}"
        elif kind == "str" and LISTS_VALUES.search(description) and not re.search(rf"\b{re.escape(value)}\b", description):
            yield f"{path}: {value!r} is none of its values"
    elif kind != "object" and hasattr(client, kind):
        yield from check_model(value, getattr(client, kind), path)


def check_model(value, model, path):
    if not isinstance(value, dict):
        yield f"{path}: is {type(value).__name__}, not {model.__name__}"
        return
    fields = {key: name for name, key in model.attribute_map.items()}
    for key, item in value.items():
        if key not in fields:
            yield f"{path}.{key}: {model.__name__} has no such field"
            continue
        name = fields[key]
        yield from check(item, model.openapi_types[name], f"{path}.{key}", getattr(model, name).__doc__ or "")
    # The models themselves say what is required, of one field at a time.
    given = {fields[key]: item for key, item in value.items() if key in fields}
    while True:
        try:
            model(**given)
            return
        except ValueError as problem:
            lacking = re.search(r"`(\w+)`, must not be `None`", str(problem))
            if not lacking or lacking.group(1) in given:
                yield f"{path}: {problem}"
                return
            yield f"{path}.{model.attribute_map[lacking.group(1)]}: is required"
            given[lacking.group(1)] = object()


problems = 0
for file in sys.argv[1:]:
    with open(file, encoding="utf-8") as stream:
        documents = list(yaml.safe_load_all(stream))
    found = [] if documents else ["has no document"]
    for document in documents:
        try:
            found += check_model(document, model_of(document), document.get("kind"))
        except (AttributeError, ValueError) as problem:
            found.append(str(problem))
    for problem in found:
        print(f"{file}: {problem}")
    problems += len(found)
sys.exit(problems > 0)
