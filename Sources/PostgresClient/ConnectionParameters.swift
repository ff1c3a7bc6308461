import CLibPQ

/// What is handed to libpq to connect: the caller's string, and after it what the driver adds or decides.
struct ConnectionParameters {
    let hosts: HostList
    let prefersStandby: Bool
    let tlsMode: String
    private let connectionString: String
    private let given: [String: String]
    private let applicationName: String
    private let sessionOptions: String

    /// Added unless the caller's string sets them: a dead peer is noticed in seconds, and there is no Kerberos lookup, which blocks.
    private static let defaults = [
        "gssencmode": "disable",
        "keepalives_idle": "15",
        "keepalives_interval": "5",
        "keepalives_count": "3",
        "tcp_user_timeout": "10000",
    ]

    /// Nil when libpq does not understand the string (its own message may quote the password), or its lists of hosts do not fit together.
    init?(_ connectionString: String, _ configuration: PostgresConfiguration) {
        guard let given = Self.options(PQconninfoParse(connectionString, nil)),
            let fallback = Self.options(PQconndefaults())
        else { return nil }
        self.connectionString = connectionString
        self.given = given
        func value(_ keyword: String) -> String { given[keyword] ?? fallback[keyword] ?? "" }
        guard let hosts = HostList(hosts: value("host"), addresses: value("hostaddr"), ports: value("port")) else { return nil }
        self.hosts = hosts
        prefersStandby = value("target_session_attrs") == "prefer-standby"
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
        if let session = target.session { keywords["target_session_attrs"] = session }
        keywords["application_name"] = given["application_name"] ?? applicationName
        keywords["options"] = sessionOptions
        keywords["client_encoding"] = "UTF8"
        // The expanded string first: what comes after it wins.
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

    /// Lends an array of C strings that ends with NULL.
    private static func withCStrings<Result>(
        _ strings: [String], _ body: (UnsafePointer<UnsafePointer<CChar>?>?) -> Result
    ) -> Result {
        let bytes = strings.flatMap { Array($0.utf8CString) }
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
    /// Whether a text is a connection string. Nothing is connected.
    public static func isConnectionString(_ text: String) -> Bool {
        ConnectionParameters(text, PostgresConfiguration(text)) != nil
    }
}
