import GatewayAPI

/// A link of a response (OpenAPI 3.1 §4.8.20): an operation on a resource that the response names.
struct OpenAPILink {
    /// A parameter of the operation's path.
    struct Parameter {
        let name: String
        /// The runtime expression of its value.
        let value: String
    }

    let operationID: String
    let parameters: [Parameter]

    /// A route that can be linked to: its path has parameters.
    struct Target {
        fileprivate let path: String
        fileprivate let operationID: String
        fileprivate let parameters: [String]

        init?(_ entry: RouteTable.Entry) {
            parameters = entry.pathParameters
            if parameters.isEmpty { return nil }
            (path, operationID) = (entry.path, entry.operationID)
        }
    }

    /// The links of a route's success response, found in the declarations alone. The value of a parameter is
    /// - for the parameter after the route's own path: the response's member `id`, or the one with the parameter's name (`POST /things` links to
    ///   `/things/{id}`);
    /// - for any parameter whose name ends with `_id`, such as `turn_id`: the response's member with that name;
    /// - for the route's own parameters, on paths below it: their value in the request.
    static func links(of source: RouteTable.Entry, to targets: [Target]) -> [OpenAPILink] {
        guard let response = source.description.response.members else { return [] }
        let (own, prefix) = (source.pathParameters, source.path + "/")
        return targets.compactMap { target in
            let isBelow = target.path.hasPrefix(prefix)
            var isNamed = false
            var parameters: [Parameter] = []
            for name in target.parameters {
                if isBelow, own.contains(name) {
                    parameters.append(Parameter(name: name, value: "$request.path.\(name)"))
                    continue
                }
                let isNext = isBelow && target.path.dropFirst(prefix.count).hasPrefix("{\(name)}")
                let candidates = isNext ? [name, "id"] : name.hasSuffix("_id") ? [name] : []
                guard let member = candidates.first(where: response.names.contains) else { return nil }
                parameters.append(Parameter(name: name, value: "$response.body#\(response.pointer)/\(member)"))
                isNamed = true
            }
            return isNamed ? OpenAPILink(operationID: target.operationID, parameters: parameters) : nil
        }
    }
}

extension RouteTable.Entry {
    /// The method and the words of the path: `get_api_v1_conversations_id`.
    var operationID: String {
        let words = path.split { !$0.isLetter && !$0.isNumber }
        return ([method.rawValue.lowercased()[...]] + words).joined(separator: "_")
    }

    /// The names in the path, in their order.
    var pathParameters: [String] {
        path.split(separator: "/").filter { $0.hasPrefix("{") }.map { String($0.dropFirst().dropLast()) }
    }
}

extension RouteResponse {
    /// The members of the resource in an envelope, or of a list's first resource, and the JSON pointer to it. nil without one.
    fileprivate var members: (pointer: String, names: [String])? {
        switch content {
        case .data(let schema): ("/data", schema.memberNames)
        case .list(let element): ("/data/0", element.memberNames)
        case .events, .media: nil
        }
    }
}

extension Schema {
    fileprivate var memberNames: [String] {
        switch form {
        case .object(let fields): fields.map(\.name)
        case .named(_, let inner): inner.memberNames
        default: []
        }
    }
}
