import JSON

/// The apps that open share links, and the public address of the links.
public struct AppLinks: Sendable, Equatable {
    /// An Android app, by its package and the SHA-256 fingerprints of its signing certificates.
    public struct AndroidApp: Sendable, Equatable {
        public var package: String
        public var fingerprints: [String]

        public init(package: String, fingerprints: [String]) {
            self.package = package
            self.fingerprints = fingerprints
        }
    }

    /// Scheme and host of the gateway as users reach it, without a slash at its end; nil: pages do not name their own address.
    public var origin: String?
    /// `TEAMID.bundle.id`.
    public var appleAppIDs: [String]
    public var androidApps: [AndroidApp]

    public init(origin: String? = nil, appleAppIDs: [String] = [], androidApps: [AndroidApp] = []) {
        self.origin = origin
        self.appleAppIDs = appleAppIDs
        self.androidApps = androidApps
    }

    /// Apple, "Supporting associated domains".
    var appleAppSiteAssociation: [UInt8] {
        let details: JSONValue = ["appIDs": .array(appleAppIDs.map(JSONValue.string)), "components": [["/": "/p/*"]]]
        return JSONValue.object([JSONMember("applinks", ["details": [details]])]).bytes
    }

    /// Google, "Digital Asset Links".
    var assetLinks: [UInt8] {
        JSONValue.array(
            androidApps.map { app in
                [
                    "relation": ["delegate_permission/common.handle_all_urls"],
                    "target": [
                        "namespace": "android_app", "package_name": .string(app.package),
                        "sha256_cert_fingerprints": .array(app.fingerprints.map(JSONValue.string)),
                    ],
                ]
            }
        ).bytes
    }
}
