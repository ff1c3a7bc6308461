import Testing

@testable import PostgresClient

@Suite struct HostRotationTests {
    private var rotation = HostRotation()

    private func list(_ hosts: String = "a,b,c") throws -> HostList {
        try #require(HostList(hosts: hosts, addresses: "", ports: "5432"))
    }

    private func order(_ session: Bool = false) throws -> [String] {
        try rotation.targets(of: list(), preferringStandby: session).map(\.entry.host)
    }

    @Test("the first round is in the order of the connection string")
    func firstRound() throws {
        try #expect(order() == ["a", "b", "c"])
    }

    @Test("a failed round begins one host further, also when several connections failed together")
    mutating func failure() throws {
        for _ in 1...3 { rotation.failed(roundFrom: 0, hosts: 3) }
        try #expect(order() == ["b", "c", "a"])
        rotation.failed(roundFrom: 1, hosts: 3)
        rotation.failed(roundFrom: 2, hosts: 3)
        try #expect(order() == ["a", "b", "c"])
    }

    @Test("the host that answered is the first of the next round")
    mutating func success() throws {
        rotation.succeeded(try rotation.targets(of: list(), preferringStandby: false)[2])
        try #expect(order() == ["c", "a", "b"])
    }

    @Test("of one name's addresses the one that answered is tried first, and after a failed round another")
    mutating func addresses() throws {
        var target = try rotation.targets(of: list("db"), preferringStandby: false)[0]
        let all = ["10.0.0.1", "10.0.0.2", "10.0.0.3"]
        #expect(rotation.order(all, of: target.entry) == all)
        rotation.failed(roundFrom: 0, hosts: 1)
        #expect(rotation.order(all, of: target.entry) == ["10.0.0.2", "10.0.0.3", "10.0.0.1"])
        target.entry.address = "10.0.0.3"
        rotation.succeeded(target)
        #expect(rotation.order(all, of: target.entry) == ["10.0.0.3", "10.0.0.1", "10.0.0.2"])
        #expect(rotation.order(["10.0.0.4"], of: target.entry) == ["10.0.0.4"])
        #expect(rotation.order([], of: target.entry) == [])
    }

    @Test("prefer-standby tries every host for a standby before it accepts a primary")
    func standby() throws {
        let targets = try rotation.targets(of: list("a,b"), preferringStandby: true)
        #expect(targets.map(\.entry.host) == ["a", "b", "a", "b"])
        #expect(targets.map(\.session) == ["standby", "standby", "any", "any"])
    }

    @Test("lists of hosts, addresses and ports that do not match are rejected")
    func misfits() {
        #expect(HostList(hosts: "a,b", addresses: "10.0.0.1", ports: "") == nil)
        #expect(HostList(hosts: "a,b,c", addresses: "", ports: "1,2") == nil)
        #expect(HostList(hosts: "a,b", addresses: "", ports: "1,2")?.entries.map(\.port) == ["1", "2"])
        #expect(HostList(hosts: "", addresses: "10.0.0.1,10.0.0.2", ports: "1")?.entries.map(\.address) == ["10.0.0.1", "10.0.0.2"])
    }

    @Test(
        "a URL whose password is not percent-encoded is rejected, because libpq takes parts of it for hosts, ports and the database",
        arguments: ["a/b@h", "a/b@h:5432", "12/b@h", "a@b@h", "a@b:c@h", "a@b/c@h", "a,b/c@h", "12,b/c@h", "70000/b"])
    func unencodedPassword(rest: String) {
        #expect(!PostgresConfiguration.isConnectionString("postgresql://user:\(rest)/db"))
    }

    @Test(
        "ports from 1 to 65535, several hosts, paths of sockets and an encoded password are accepted",
        arguments: [
            "postgres://u:a%2Fb%40c@h/d", "postgres://u:p@h:1,i:65535/d", "postgres://u:p@[::1]:5433,h:/d", "host=/run/a@b port=5433",
            "host=@abstract", "postgres:///d", "",
        ])
    func accepted(text: String) {
        #expect(PostgresConfiguration.isConnectionString(text))
    }

    @Test("other ports are rejected", arguments: ["0", "65536", "-1", "x"])
    func ports(port: String) {
        #expect(!PostgresConfiguration.isConnectionString("host=h port=\(port)"))
    }

    @Test("names are looked up, addresses and sockets are not")
    func lookups() throws {
        let entries = try list("localhost,127.0.0.1,::1,/run/postgresql,@abstract,").entries
        #expect(entries.map(\.needsLookup) == [true, false, false, false, false, false])
    }

    @Test("unverified hosts are remote hosts without sslmode=verify-full")
    func unverified() {
        for local in ["postgres://u@localhost/d", "postgres://u@127.0.0.1/d", "postgres://u@[::1]/d", "host=/run/postgresql", "dbname=d"] {
            #expect(PostgresConfiguration.unverifiedHosts(of: local) == [], "\(local)")
        }
        #expect(PostgresConfiguration.unverifiedHosts(of: "postgres://u:p@db.example,localhost/d?sslmode=require") == ["db.example"])
        #expect(PostgresConfiguration.unverifiedHosts(of: "host=localhost hostaddr=10.0.0.1") == ["localhost:5432"])
        #expect(PostgresConfiguration.unverifiedHosts(of: "postgres://u@127.evil.example/d") == ["127.evil.example:5432"])
        #expect(PostgresConfiguration.unverifiedHosts(of: "postgres://u@db.example/d?sslmode=verify-full") == [])
    }
}
