import Foundation
import JSON

/// A character card inside a PNG file, as card editors exchange it: base64 of the JSON in a `tEXt` chunk, `ccv3` for V3 and `chara` for V2.
public enum CardPicture {
    /// In the order of preference: a V3 file may have a V2 copy for older readers.
    private static let keywords = ["ccv3", "chara"]

    public static func isPicture(_ bytes: [UInt8]) -> Bool { bytes.starts(with: PNGFile.signature) }

    /// The JSON of the card; nil for a picture without one. Throws for a damaged file.
    public static func card(in bytes: [UInt8]) throws(AvatarImage.Flaw) -> [UInt8]? {
        var found: [String: [UInt8]] = [:]
        for chunk in try PNGFile.chunks(bytes) where chunk.type == "tEXt" {
            let parts = chunk.data.split(separator: 0, maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let card = Data(base64Encoded: Data(parts[1]), options: .ignoreUnknownCharacters) else { continue }
            found[String(decoding: parts[0], as: UTF8.self).lowercased()] = Array(card)
        }
        return keywords.lazy.compactMap { found[$0] }.first
    }

    /// A picture with the card in it.
    /// - Parameter picture: without metadata; another picture than a PNG, or none, is replaced by one transparent pixel.
    public static func picture(of card: JSONValue, in picture: AvatarImage?) -> [UInt8] {
        let pixels = picture.flatMap { $0.format == .png ? $0.bytes : nil } ?? pixel
        let keyword = card["spec"]?.string == "chara_card_v2" ? "chara" : "ccv3"
        let text = Array(keyword.utf8) + [0] + Array(Data(card.bytes).base64EncodedData())
        let end = pixels.count - PNGFile.endLength
        return Array(pixels[..<end]) + PNGFile.chunk("tEXt", text) + pixels[end...]
    }

    private static let pixel = Array(
        Data(base64Encoded: "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAAC0lEQVR42mNgAAIAAAUAAen63NgAAAAASUVORK5CYII=") ?? Data())
}
