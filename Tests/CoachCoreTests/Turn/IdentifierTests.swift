import CoachCore
import Foundation
import JSON
import Testing

@Suite("Identifiers as text")
struct IdentifierTests {
    @Test("a UUID is parsed in upper and lower case, and formatted in lower case")
    func roundTrip() {
        for _ in 0..<1_000 {
            let uuid = UUID()
            #expect(UUID(canonical: uuid.uuidString) == uuid)
            #expect(UserID(validating: "(\(uuid.uuidString.lowercased()))".dropFirst().dropLast())?.uuid == uuid)
            #expect(uuid.canonicalText == uuid.uuidString.lowercased())
        }
        #expect(TurnID(validating: "00000000-0000-0000-0000-000000000001")?.description == "00000000-0000-0000-0000-000000000001")
        #expect(TurnID(validating: "FFFFFFFF-ffff-FFFF-ffff-FFFFFFFFFFFF")?.description == "ffffffff-ffff-ffff-ffff-ffffffffffff")
    }

    @Test("a random identifier is a unique version 4 UUID")
    func random() {
        let texts = (0..<1_000).map { _ in UUID.random().canonicalText }
        #expect(Set(texts).count == 1_000)
        #expect(texts.allSatisfy { $0.wholeMatch(of: /[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/) != nil })
        #expect(Set(texts.compactMap(\.first)).count == 16 && Set(texts.compactMap(\.last)).count == 16)
    }

    @Test(
        "any other text is rejected",
        arguments: [
            "", "6f1c2f9e", "6f1c2f9e-5b7a-4b60-8a52-0d0e3b1f9d1", "6f1c2f9e-5b7a-4b60-8a52-0d0e3b1f9d111",
            "6f1c2f9e5b7a4b608a520d0e3b1f9d11", "6f1c2f9e-5b7a-4b60-8a52_0d0e3b1f9d11", "6f1c2f9-e5b7a-4b60-8a52-0d0e3b1f9d11",
            "6f1c2f9e-5b7a-4b60-8a52-0d0e3b1f9d1g", "6f1c2f9e-5b7a-4b60-8a52-0d0e3b1f9d1 ", "{6f1c2f9e-5b7a-4b60-8a52-0d0e3b1f9d}",
            "６f1c2f9e-5b7a-4b60-8a52-0d0e3b1f9d", "0x1c2f9e-5b7a-4b60-8a52-0d0e3b1f9d11", "+f1c2f9e-5b7a-4b60-8a52-0d0e3b1f9d11",
        ])
    func malformed(text: String) {
        #expect(UUID(canonical: text) == nil)
        #expect(UserID(validating: text) == nil)
    }

    @Test("one wrong byte at any position is rejected")
    func wrongByte() {
        let text = Array("6f1c2f9e-5b7a-4b60-8a52-0d0e3b1f9d11".utf8)
        for index in text.indices {
            // The ASCII neighbours of the digits, and hyphens and digits swapped.
            for byte in "/:@G`g\0+ -".utf8 where byte != text[index] {
                var changed = text
                changed[index] = byte
                #expect(UUID(canonical: String(decoding: changed, as: UTF8.self)) == nil)
            }
            if text[index] == UInt8(ascii: "-") {
                var changed = text
                changed[index] = UInt8(ascii: "0")
                #expect(UUID(canonical: String(decoding: changed, as: UTF8.self)) == nil)
            }
        }
    }
}
