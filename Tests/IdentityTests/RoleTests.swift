import CoachCore
import Foundation
import Testing

@testable import Identity

@Suite("Roles")
struct RoleTests {
    private func caller(_ changes: [String: String?]) throws -> Caller {
        try Forge.verifier.verify(Forge.bearer(changes), now: Forge.now)
    }

    @Test("creator and operator come only from app_metadata.role")
    func fromAppMetadata() throws {
        #expect(try caller(["app_metadata": #"{"role":"creator"}"#]).role == .creator)
        #expect(try caller(["app_metadata": #"{"roles":["operator","creator"]}"#]).role == nil)
        #expect(try caller(["app_metadata": #"{"role":"creator","roles":["operator","editor"]}"#]).role == .creator)
    }

    @Test("user_metadata, which users can write, gives no role")
    func neverFromUserMetadata() throws {
        #expect(try caller(["user_metadata": #"{"role":"operator","roles":["operator"]}"#]).role == nil)
        #expect(try caller(["user_metadata": #"{"app_metadata":{"role":"operator"}}"#]).role == nil)
    }

    @Test(
        "malformed app_metadata gives no role and does not reject the user",
        arguments: [
            "null", "[]", #""operator""#, "{}", #"{"role":null}"#, #"{"role":["operator"]}"#, #"{"role":{"role":"operator"}}"#,
            #"{"roles":"operator"}"#, #"{"roles":["operator",1]}"#, #"{"role":"Operator"}"#, #"{"role":"admin"}"#,
            #"{"role":"authenticated"}"#,
        ])
    func strangeMetadata(metadata: String) throws {
        #expect(try caller(["app_metadata": metadata]).role == nil)
    }

    @Test(
        "a token that does not belong to a user is forbidden, not malformed",
        arguments: [#""anon""#, #""service_role""#, #""operator""#, #""""#, #""Authenticated""#, "null", nil])
    func topLevelRole(role: String?) {
        #expect(throws: TokenRejection.forbidden) { try caller(["role": role]) }
    }

    @Test("Supabase's anonymous key, without audience and subject, is forbidden")
    func anonymousKey() {
        #expect(throws: TokenRejection.forbidden) {
            try caller(["role": #""anon""#, "iss": #""supabase""#, "ref": #""abc""#, "aud": nil, "sub": nil])
        }
    }

    @Test("the database receives the role")
    func databaseClaims() throws {
        let id = "\"sub\":\"\(Forge.user)\""
        #expect(try caller([:]).claims == #"{"role":"authenticated",\#(id)}"#)
        #expect(
            try caller(["app_metadata": #"{"role":"operator","roles":["creator"]}"#]).claims
                == #"{"app_metadata":{"role":"operator"},"role":"authenticated",\#(id)}"#)
    }

    @Test("the database never receives e-mail or other metadata")
    func nothingPersonal() throws {
        let caller = try caller([
            "email": #""x@example.com""#, "phone": #""123""#, "user_metadata": #"{"name":"X"}"#, "app_metadata": #"{"provider":"apple"}"#,
        ])
        #expect(caller.claims == #"{"role":"authenticated","sub":"\#(Forge.user)"}"#)
    }
}
