import Foundation
import OpenSSLCrypto
import Testing

@Suite("Certificates from anybody")
struct CertificateTests {
    /// A key on a curve whose prime is of the form k·2^640 + 1, as a compressed point: OpenSSL takes 0.3 s to decode it.
    private static let ownCurve = """
            MIIClDCCAnmgAwIBAgIBBTAKBggqhkjOPQQDAjAMMQowCAYDVQQDDAFlMB4XDTI1MDEwMTAwMDAwMFoXDTM1MDEwMTAwMDAwMFowDDEKMAgGA1UEAwwB
            ZTCCAiUwggHKBgcqhkjOPQIBMIIBvQIBATBeBgcqhkjOPQEBAlMQAdEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
            AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAATCBqgRTAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
            AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAEEUwAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
            AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAHBFQCAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
            AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAcCUgQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
            AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAECAQEDVQACAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA
            AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAcwCgYIKoZIzj0EAwIDCQAwBgIBAQIBAQ==
        """

    /// A compressed point on secp224r1, which takes 11 ms.
    private static let compressed = """
            MIIBPDCB7KADAgECAhQCNJqdC80WRnE/tNv8W3M8NOlqtzAKBggqhkjOPQQDAjAMMQowCAYDVQQDDAFlMB4XDTI2MTEyMzIxMDU1NVoXDTI2MTIyMzIx
            MDU1NVowDDEKMAgGA1UEAwwBZTAyMBAGByqGSM49AgEGBSuBBAAhAx4AAhSbvNcRQ/E4S2tzijBzfN6LBoTcfVnhcRJ2zlGjUzBRMB0GA1UdDgQWBBRr
            8cpd6dQtyTUvDMa+PWvUBSGZADAfBgNVHSMEGDAWgBRr8cpd6dQtyTUvDMa+PWvUBSGZADAPBgNVHRMBAf8EBTADAQH/MAoGCCqGSM49BAMCAz8AMDwC
            HCV8RmzJFXThMBRMyNN7n60b8C5hWliphKZXfCQCHDOkTyf2qVlePC//G9YwcYcHyhvGN8KbmaCgCFk=
        """

    @Test("a key that OpenSSL needs long to decode is refused before it does", arguments: [ownCurve, compressed])
    func slow(text: String) throws {
        let der = [UInt8](try #require(Data(base64Encoded: text, options: .ignoreUnknownCharacters)))
        let elapsed = ContinuousClock().measure {
            for _ in 0..<1_000 { #expect(Certificate(untrusted: der) == nil) }
        }
        // Decoded, the thousand would take 11 s at least.
        #expect(elapsed < .seconds(5))
    }

    @Test("a certificate that was cut or has other lengths is refused")
    func cut() throws {
        let der = [UInt8](try #require(Data(base64Encoded: Self.compressed, options: .ignoreUnknownCharacters)))
        for count in 0..<der.count { #expect(Certificate(untrusted: Array(der[..<count])) == nil) }
        for index in 0..<32 {
            var changed = der
            changed[index] = 0xFF
            #expect(Certificate(untrusted: changed) == nil)
        }
    }
}
