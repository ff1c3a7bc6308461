import Foundation
import Testing

/// What an avatar's file may bring with it, over the whole way from an upload to what others get.
@Suite("Files of avatars", .paced)
struct AvatarFileTests {
    private typealias Upload = AvatarFiles.Upload

    private static func png(_ name: String, _ chunks: [UInt8], before: [UInt8] = [], isKept: Bool = true) -> Upload {
        let bytes = AvatarFiles.pngHead + before + AvatarFiles.png("IDAT", AvatarFiles.pixels) + chunks
        return Upload(testDescription: "PNG \(name)", type: "image/png", bytes: bytes, served: isKept ? AvatarFiles.cleanPNG : nil)
    }

    private static var pngs: [Upload] {
        let (end, secret) = (AvatarFiles.pngEnd, AvatarFiles.secret)
        let removed: [(String, [UInt8])] = [
            ("tEXt", Array("Comment\0".utf8) + secret), ("zTXt", Array("chara\0\0".utf8) + secret),
            ("iTXt", Array("XML:com.adobe.xmp\0\0\0\0\0".utf8) + AvatarFiles.xmp), ("eXIf", AvatarFiles.exif),
            ("iCCP", Array("profile\0\0".utf8) + secret), ("tIME", [7, 0xEA, 11, 25, 0, 0, 0]), ("prVt", secret),
            ("acTL", [0, 0, 0, 1, 0, 0, 0, 0]), ("fdAT", [0, 0, 0, 1] + secret),
        ]
        var uploads = removed.map { png($0, end, before: AvatarFiles.png($0, $1)) }
        uploads += [
            png("with text before its end", AvatarFiles.png("tEXt", Array("a\0".utf8) + secret) + end),
            png("with data after its end", end + secret), png("with a page after its end", end + Array("<script>alert(1)</script>".utf8)),
            png("with text in its end", AvatarFiles.png("IEND", secret), isKept: false),
            png("with text behind the pixels", AvatarFiles.png("IDAT", secret) + end, isKept: false),
            png("with an unknown critical chunk", end, before: AvatarFiles.png("PRMT", secret), isKept: false),
            png("with a wrong checksum", end, before: AvatarFiles.png("tEXt", secret, checksum: 7), isKept: false),
            png("without its end", [], isKept: false),
        ]
        let large = AvatarFiles.pngHead.prefix(8) + AvatarFiles.png("IHDR", AvatarFiles.pngSize(65_535))
        let bytes = large + AvatarFiles.png("IDAT", AvatarFiles.pixels) + end
        return uploads + [Upload(testDescription: "PNG of 4 billion pixels", type: "image/png", bytes: Array(bytes), served: nil)]
    }

    private static var jpegs: [Upload] {
        func file(_ name: String, _ segments: [UInt8], after: [UInt8] = [], isKept: Bool = true) -> Upload {
            let bytes = [0xFF, 0xD8] + segments + [0xFF, 0xD9] + after
            return Upload(testDescription: "JPEG \(name)", type: "image/jpeg", bytes: bytes, served: isKept ? AvatarFiles.cleanJPEG : nil)
        }
        let (body, secret) = (AvatarFiles.jpegBody, AvatarFiles.secret)
        let removed: [(UInt8, [UInt8])] = [
            (0xE0, Array("JFIF\0".utf8) + [1, 1, 0, 0, 1, 0, 1, 2, 2] + [UInt8](repeating: 7, count: 12)),
            (0xE1, Array("Exif\0\0".utf8) + AvatarFiles.exif), (0xE1, Array("http://ns.adobe.com/xap/1.0/\0".utf8) + AvatarFiles.xmp),
            (0xE2, Array("ICC_PROFILE\0".utf8) + secret), (0xED, Array("Photoshop 3.0\0".utf8) + secret),
            (0xEE, Array("Adobe".utf8) + secret),
            (0xEF, secret), (0xFE, secret), (0xFE, Array("<script>alert(1)</script>".utf8)),
        ]
        let frame = AvatarFiles.jpeg(0xC0, [8, 0xFF, 0xFF, 0xFF, 0xFF, 1, 1, 0x11, 0])
        return removed.enumerated().flatMap { number, segment in
            let data = AvatarFiles.jpeg(segment.0, segment.1)
            let name = "segment \(number), \(String(segment.0, radix: 16))"
            return [file("with \(name)", data + body), file("ending with \(name)", body + data)]
        } + [
            file("with fill bytes before a marker", [0xFF, 0xFF, 0xFF] + body.dropFirst()),
            file("with data after its end", body, after: secret), file("with text behind the last block", body + secret),
            file("with a table that nothing uses", AvatarFiles.jpeg(0xDB, [3] + (secret + secret).prefix(64)) + body),
            file("with another picture after its end", body, after: [0xFF, 0xD8] + AvatarFiles.jpeg(0xFE, secret) + body + [0xFF, 0xD9]),
            file("with text behind a table", AvatarFiles.jpeg(0xDB, [0] + [UInt8](repeating: 1, count: 64) + secret) + body, isKept: false),
            file("with an unknown segment", AvatarFiles.jpeg(0xF0, secret) + body, isKept: false),
            file("without a scan", AvatarFiles.jpegTable + AvatarFiles.jpegFrame, isKept: false),
            file("of 4 billion pixels", AvatarFiles.jpegTable + frame + AvatarFiles.jpegCodes + AvatarFiles.jpegScan, isKept: false),
        ]
    }

    private static var webps: [Upload] {
        func file(_ name: String, _ bytes: [UInt8], served: [UInt8]?) -> Upload {
            Upload(testDescription: "WebP \(name)", type: "image/webp", bytes: bytes, served: served)
        }
        let (pixels, secret, clean) = (AvatarFiles.webpPixels, AvatarFiles.secret, AvatarFiles.cleanWebP)
        let canvas = AvatarFiles.webp([AvatarFiles.webpCanvas(flags: 0), pixels])
        let removed = [("ICCP", secret), ("EXIF", AvatarFiles.exif), ("XMP ", AvatarFiles.xmp), ("PRMT", secret)]
        return removed.flatMap { chunk in
            [
                file(
                    "with \(chunk.0)", AvatarFiles.webp([AvatarFiles.webpCanvas(flags: 0x2C, reserved: 7), pixels, chunk]), served: canvas),
                file("with \(chunk.0) and no canvas", AvatarFiles.webp([chunk, pixels], padding: 7), served: clean),
            ]
        } + [
            file("with data after its end", clean + secret, served: clean),
            file("that promises more", AvatarFiles.webp([pixels], longer: 2), served: nil),
            file("with an animation", AvatarFiles.webp([AvatarFiles.webpCanvas(flags: 2), ("ANIM", secret), pixels]), served: nil),
            file("whose canvas lies", AvatarFiles.webp([AvatarFiles.webpCanvas(flags: 0, width: 9), pixels]), served: nil),
            file("without pixels", AvatarFiles.webp([AvatarFiles.webpCanvas(flags: 0), ("EXIF", AvatarFiles.exif)]), served: nil),
        ]
    }

    private static var others: [Upload] {
        ["GIF89a", "<svg xmlns='http://www.w3.org/2000/svg'><script/></svg>", "<html>", "%PDF-1.7", ""].map {
            Upload(testDescription: "not a picture: \($0)", type: "image/png", bytes: Array($0.utf8), served: nil)
        }
    }

    @Test(
        "are served as their pixels alone, to creator, users and visitors, with their own type; what is no picture is rejected",
        arguments: [pngs, jpegs, webps, others])
    func served(uploads: [AvatarFiles.Upload]) async throws {
        let gateway = try await TestBed.shared().gateway
        let (creator, user) = (TestUser(gateway: gateway, role: "creator"), gateway.testUser())
        let id = try #require(try await creator.send("POST", "/api/v1/personas", ["name": "Ada"]).data["id"])
        let item = "/api/v1/personas/\(id)"
        #expect(try await creator.send("POST", "\(item)/publish", ["visibility": "listed"]).status == 200)
        let page = try #require(try await creator.send("POST", "\(item)/share-links").data["path"])
        for upload in uploads {
            // The type that the client names has no effect.
            let sent = try await creator.browser.send(
                "PUT", "\(item)/avatar", body: upload.bytes, headers: ["Content-Type": "image/png", "Accept": "application/json"])
            guard let expected = upload.served else {
                #expect(sent.status == 422 && sent.error.object("details")["field"] == "avatar", "\(upload.testDescription): \(sent.text)")
                continue
            }
            #expect(sent.status == 200, "\(upload.testDescription): \(sent.text)")
            for (reader, path) in [
                (creator.browser, "\(item)/avatar"), (user.browser, "\(item)/avatar"), (Browser(port: gateway.port), "\(page)/avatar"),
            ] {
                let picture = try await reader.send("GET", path)
                #expect(picture.body == expected && picture.headers["content-type"] == upload.type, "\(upload.testDescription)")
                #expect(picture.headers["x-content-type-options"] == "nosniff", "\(upload.testDescription)")
            }
        }
    }
}
