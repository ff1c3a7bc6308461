import CLibPQ
import Reactor

extension PostgresConfiguration {
    /// The hosts of a connection string to which passwords and data go without the server having proved its name: anything below
    /// `sslmode=verify-full` to a host that is not this machine (PostgreSQL manual, 34.19.1). Empty also when the string is not understood.
    public static func unverifiedHosts(of connectionString: String) -> [String] {
        guard let parameters = ConnectionParameters(connectionString, PostgresConfiguration(connectionString)),
            parameters.tlsMode != "verify-full"
        else { return [] }
        return parameters.hosts.entries.filter { !isLocal($0) }.map(\.label)
    }

    private static func isLocal(_ entry: HostList.Entry) -> Bool {
        let host = entry.address ?? entry.host
        if host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host == "localhost" || host == "::1" { return true }
        return NameLookup.isAddress(host) && host.hasPrefix("127.")
    }
}
