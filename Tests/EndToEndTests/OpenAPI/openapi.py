"""Validates the OpenAPI document of a gateway: openapi.py URL. Prints its operations and links, one a line."""

import sys

import requests
from openapi_spec_validator import OpenAPIV31SpecValidator

document = requests.get(sys.argv[1] + "/openapi.json", timeout=10).json()
OpenAPIV31SpecValidator(document).validate()
operations = {operation["operationId"]: operation for item in document["paths"].values() for operation in item.values()}
for path, item in document["paths"].items():
    for method, operation in item.items():
        print(method.upper(), path)
        for response in operation["responses"].values():
            for link in response.get("links", {}).values():
                in_path = {f"path.{parameter['name']}" for parameter in operations[link["operationId"]]["parameters"] if parameter["in"] == "path"}
                assert in_path == set(link["parameters"]), (method, path, link)
                print("link", operation["operationId"], link["operationId"])
