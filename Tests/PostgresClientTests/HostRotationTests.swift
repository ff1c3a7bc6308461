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
