import HTTPEdge
import Hummingbird
import JSON
import OpenSSLCrypto

/// The scripts and style sheets of a page, under an address with a hash of them all: browsers load them again only when one has changed. Also fills
/// in the page's templates.
struct PageAssets: Sendable {
    private let folder: String
    private let files: [String: PageFile]
    private let version: String

    /// `folder`: where they are served, such as `/operator/assets`.
    init(folder: String, _ files: [String: PageFile]) {
        self.folder = folder
        self.files = files
        let content = files.sorted { $0.key < $1.key }.flatMap { name, file in Array(name.utf8) + file.bytes }
        version = Hexadecimal.encode(SHA256.hash(content).prefix(8))
    }

    func path(_ name: String) -> String { "\(folder)/\(version)/\(name)" }

    /// The file with each `{{name}}` replaced: `assets` by the folder with the version, others by the given text, which is HTML already.
    func filled(_ template: PageFile, _ texts: [String: String] = [:]) -> PageFile {
        var html = String(decoding: template.bytes, as: UTF8.self)
        for (name, text) in texts.merging(["assets": "\(folder)/\(version)"], uniquingKeysWith: { $1 }) {
            html = html.replacing("{{\(name)}}", with: text)
        }
        return PageFile(.html, Array(html.utf8))
    }

    func register(on group: RouteGroup<GatewayContext>, where isAllowed: @escaping @Sendable (Request) -> Bool = { _ in true }) {
        group.get(
            "\(folder)/{version}/{file}",
            .init(
                "Get a script or style sheet of the page",
                parameters: [.init("version", in: .path, .text), .init("file", in: .path, .values(files.keys.sorted()))],
                response: .media(["text/javascript": .text, "text/css": .text]))
        ) { request, context in
            guard isAllowed(request), let file = context.parameters.get("file").flatMap({ files[$0] }) else { throw GatewayError.notFound }
            return file.asset(isCurrent: context.parameters.get("version") == version)
        }
    }
}
