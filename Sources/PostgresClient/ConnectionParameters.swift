import CLibPQ

/// The parameters of `PQconnectStartParams`: the caller's connection string, then the values that the driver adds or overrides.
struct ConnectionParameters {
    let hosts: HostList
    let prefersStandby: Bool
    let tlsMode: String
    private let connectionString: String
    private let given: [String: String]
    /// Replaces the connection string's `target_session_attrs`; nil: that one applies.
    private let session: String?
    private let applicationName: String
    private let sessionOptions: String

    /// Added unless the caller's string sets them: TCP detects a lost peer in seconds, and libpq does no Kerberos lookup, which would
    /// block.
    private static let defaults = [
        "gssencmode": "disable",
        "keepalives_idle": "15",
        "keepalives_interval": "5",
        "keepalives_count": "3",
        "tcp_user_timeout": "10000",
    ]

    /// Nil when libpq cannot parse the string, its lists of hosts do not match, or a part of the password may be in another parameter, because it is
    /// not percent-encoded: then messages would show it. Without libpq's message, which may quote the password.
    init?(_ connectionString: String, _ configuration: PostgresConfiguration) {
        guard let given = Self.options(PQconninfoParse(connectionString, nil)),
            let fallback = Self.options(PQconndefaults())
        else { return nil }
        self.connectionString = connectionString
        self.given = given
        func value(_ keyword: String) -> String { given[keyword] ?? fallback[keyword] ?? "" }
        guard let hosts = HostList(hosts: value("host"), addresses: value("hostaddr"), ports: value("port")),
            !value("dbname").contains("@")
        else { return nil }
        self.hosts = hosts
        prefersStandby = value("target_session_attrs") == "prefer-standby"
        // Of several hosts most are standbys, which accept connections and no writes. Only `any` in the connection string gets one of them.
        let isUnset = given["target_session_attrs"] == nil && value("target_session_attrs") == "any"
        session = hosts.entries.count > 1 && isUnset ? "read-write" : nil
        tlsMode = value("sslmode")
        applicationName = configuration.applicationName
        sessionOptions = [given["options"], configuration.sessionOptions].compactMap { $0 }.joined(separator: " ")
    }

    /// Begins a connection attempt that does not block, because the target has an address. Nil when there is no memory.
    func startConnection(_ target: ConnectionTarget) -> OpaquePointer? {
        var keywords = Self.defaults.filter { given[$0.key] == nil }
        keywords["host"] = target.entry.host
        keywords["hostaddr"] = target.entry.address ?? ""
        keywords["port"] = target.entry.port
        if let session = target.session ?? session { keywords["target_session_attrs"] = session }
        keywords["application_name"] = given["application_name"] ?? applicationName
        keywords["options"] = sessionOptions
        keywords["client_encoding"] = "UTF8"
        // The connection string comes first, because later values override earlier ones.
        let pairs = [("dbname", connectionString)] + keywords.map { ($0.key, $0.value) }
        return Self.withCStrings(pairs.map(\.0)) { names in
            Self.withCStrings(pairs.map(\.1)) { values in PQconnectStartParams(names, values, 1) }
        }
    }

    fileprivate static func options(_ list: UnsafeMutablePointer<PQconninfoOption>?) -> [String: String]? {
        guard let list else { return nil }
        defer { PQconninfoFree(list) }
        var options: [String: String] = [:]
        var next = list
        while let keyword = next.pointee.keyword {
            if let value = next.pointee.val { options[String(cString: keyword)] = String(cString: value) }
            next += 1
        }
        return options
    }

    /// Calls `body` with a NULL-terminated array of C strings, valid during the call.
    private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
    ) -> Result {
        let bytes = strings.flatMap { Array($0.utf8CString) }
        // SAFETY: each offset is that of a string's first byte in `bytes`, which outlives the call; a string's C form has one byte more than its UTF-8.
        return bytes.withUnsafeBufferPointer { bytes in
            var offset = 0
            var pointers: [UnsafePointer<CChar>?] = strings.map { string in
                defer { offset += string.utf8.count + 1 }
                return bytes.baseAddress?.advanced(by: offset)
            }
            pointers.append(nil)
            return pointers.withUnsafeBufferPointer { body($0.baseAddress) }
        }
    }
}

extension PostgresConfiguration {
    /// Whether a text is a connection string that libpq accepts, and reads as it is meant, as far as one can tell. Does not connect.
    public static func isConnectionString(_ text: String) -> Bool {
        ConnectionParameters(text, PostgresConfiguration(text)) != nil
    }
}
