"""Validates the OpenAPI document of a gateway: openapi.py URL. Prints its operations, one a line."""

import sys

import requests
from openapi_spec_validator import OpenAPIV31SpecValidator

document = requests.get(sys.argv[1] + "/openapi.json", timeout=10).json()
OpenAPIV31SpecValidator(document).validate()
for path, item in document["paths"].items():
    for method in item:
        print(method.upper(), path)
