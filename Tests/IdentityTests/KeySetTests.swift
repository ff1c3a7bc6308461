import Foundation
import Synchronization
import Testing

@testable import Identity

/// A source whose document the test replaces, and which counts reads.
private final class Script: Sendable {
    struct Broken: Error, CustomStringConvertible { let description = "broken" }
    private let state = Mutex((document: String?.some(Fixture.jwks), reads: 0))

    var reads: Int { state.withLock { $0.reads } }
    func publish(_ document: String?) { state.withLock { $0.document = document } }

    var source: KeySource {
        KeySource(interval: .seconds(600)) { [self] in
            try state.withLock { state in
                state.reads += 1
                guard let document = state.document else { throw Broken() }
                return Array(document.utf8)
            }
        }
    }
}

@Suite("KeySet")
struct KeySetTests {
    private let rotated = #"{"keys":[\#(Fixture.secondKey)]}"#
    private let tokenOfNewKey = "Bearer \(Fixture.es256OfSecondKey)"
    private let script = Script()

    private func verifier(_ keySet: KeySet) -> TokenVerifier { TokenVerifier(policy: Forge.policy, secret: nil, keySet: keySet) }

    @Test("a token of a newly published key is accepted, and one of the removed key is rejected")
    func rotation() async throws {
        let keySet = KeySet(source: script.source)
        await keySet.load()
        script.publish(rotated)
        let caller = try await verifier(keySet).authenticate(tokenOfNewKey, now: Forge.now)
        #expect("\(caller.userID)" == Forge.user)
        #expect(throws: TokenRejection.unknownKey) { try verifier(keySet).verify("Bearer \(Fixture.es256)", now: Forge.now) }
    }

    @Test("a thousand tokens with unknown keys cause one read, and after 10 s another one")
    func rateLimit() async {
        let time = Mutex(ContinuousClock.now)
        let keySet = KeySet(source: script.source, now: { time.withLock { $0 } })
        let verifier = verifier(keySet)
        await keySet.load()
        for round in 1...2 {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<1000 {
                    group.addTask {
                        await #expect(throws: TokenRejection.unknownKey) {
                            try await verifier.authenticate("Bearer \(Fixture.es256UnknownKid)", now: Forge.now)
                        }
                    }
                }
            }
            #expect(script.reads == 1 + round)
            time.withLock { $0 += .seconds(10) }
        }
    }

    @Test("only an unknown key causes a read")
    func otherRejections() async {
        let keySet = KeySet(source: script.source)
        await keySet.load()
        for token in [nil, "Bearer x", "Bearer \(Fixture.es256OfAnotherKey)", "Bearer \(Fixture.hs256)", "Bearer \(Fixture.rs384)"] {
            await #expect(throws: TokenRejection.self) { try await verifier(keySet).authenticate(token, now: Forge.now) }
        }
        #expect(script.reads == 1)
    }

    @Test("until a first document is loaded a token of a public key is not said to be wrong; then one of an unknown key is")
    func notLoaded() async throws {
        let keySet = KeySet(source: script.source, unknownKeyPause: .zero)
        let secret = TokenVerifier(policy: Forge.policy, secret: Forge.secret, keySet: keySet)
        script.publish(nil)
        #expect(await keySet.load() == false)
        #expect(!verifier(keySet).isReady && secret.isReady)
        await #expect(throws: TokenRejection.keysNotLoaded) {
            try await verifier(keySet).authenticate("Bearer \(Fixture.es256)", now: Forge.now)
        }
        #expect(throws: TokenRejection.unknownKey) { try verifier(keySet).verify("Bearer \(Fixture.es256WithoutKid)", now: Forge.now) }
        #expect(throws: TokenRejection.algorithm) { try verifier(keySet).verify("Bearer \(Fixture.hs256)", now: Forge.now) }
        _ = try await secret.authenticate("Bearer \(Fixture.hs256)", now: Forge.now)
        script.publish(Fixture.jwks)
        _ = try await verifier(keySet).authenticate("Bearer \(Fixture.es256)", now: Forge.now)
        #expect(verifier(keySet).isReady)
        await #expect(throws: TokenRejection.unknownKey) {
            try await verifier(keySet).authenticate("Bearer \(Fixture.es256UnknownKid)", now: Forge.now)
        }
        script.publish(nil)
        #expect(await keySet.load() == false)
        #expect(verifier(keySet).isReady, "the last valid keys stay in use")
    }

    @Test("after a failed read the last valid keys stay in use", arguments: [nil, "", "<html>", #"{"keys":7}"#])
    func staleWhileRevalidating(document: String?) async {
        let keySet = KeySet(source: script.source)
        #expect(await keySet.load())
        script.publish(document)
        #expect(await keySet.load() == false)
        #expect(keySet.failure != nil)
        #expect(throws: Never.self) { try verifier(keySet).verify("Bearer \(Fixture.es256)", now: Forge.now) }
        script.publish(rotated)
        #expect(await keySet.load())
        #expect(keySet.failure == nil)
        #expect(keySet.current?.identifiers == ["ec-2"])
    }

    @Test("a key set without a usable key reports each key's defect, and the last valid keys stay in use")
    func nothingUsable() async {
        let keySet = KeySet(source: script.source)
        await keySet.load()
        script.publish(#"{"keys":[{"kty":"oct","kid":"a","k":"AA"},{"kty":"RSA"}]}"#)
        #expect(await keySet.load() == false)
        let reason = "no key of the set can be used: key 1: kid a is of a kind that is not accepted; key 2: it has no kid"
        #expect(keySet.failure == reason)
        #expect(await KeySet.findings(of: script.source) == [reason])
        #expect(throws: Never.self) { try verifier(keySet).verify("Bearer \(Fixture.es256)", now: Forge.now) }
        script.publish(Fixture.jwks)
        #expect(await KeySet.findings(of: script.source) == [])
    }

    @Test("an empty key set removes all keys")
    func allKeysWithdrawn() async {
        let keySet = KeySet(source: script.source)
        await keySet.load()
        script.publish(#"{"keys":[]}"#)
        await keySet.load()
        #expect(throws: TokenRejection.unknownKey) { try verifier(keySet).verify("Bearer \(Fixture.es256)", now: Forge.now) }
    }

    @Test("each new document is reported once")
    func reports() async {
        let reports = Mutex<[[String]]>([])
        let keySet = KeySet(source: script.source, report: { identifiers, _ in reports.withLock { $0.append(identifiers) } })
        for document in [Fixture.jwks, Fixture.jwks, nil, Fixture.jwks, rotated, rotated] {
            script.publish(document)
            await keySet.load()
        }
        #expect(reports.withLock { $0 } == [["ec-1", "ed-1", "rsa-1"], ["ec-2"]])
    }
}
