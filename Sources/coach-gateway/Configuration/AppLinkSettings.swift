import PersonaAPI

extension AppLinks {
    init(_ settings: inout Settings) {
        let origin = settings.text(.publicOrigin)
        if let defect = origin.flatMap(WebOrigin.defect) {
            settings.complain(.publicOrigin, defect)
        } else if let origin, !origin.hasPrefix("https://"), !origin.hasPrefix("http://") {
            settings.complain(.publicOrigin, "\"\(origin)\" is neither https nor http")
        }
        let appleAppIDs = settings.list(.appleAppIDs)
        for id in appleAppIDs where id.wholeMatch(of: /[A-Z0-9]{10}(\.[A-Za-z0-9-]+)+/) == nil {
            settings.complain(.appleAppIDs, "\"\(id)\" is not TEAMID.bundle.id")
        }
        var apps: [AndroidApp] = []
        for entry in settings.list(.androidApps) {
            guard let match = entry.wholeMatch(of: /([A-Za-z0-9_.]+)=([0-9A-F]{2}(?::[0-9A-F]{2}){31})/) else {
                settings.complain(.androidApps, "\"\(entry)\" is not package=fingerprint, with 32 bytes in upper case between colons")
                continue
            }
            let (package, fingerprint) = (String(match.1), String(match.2))
            if let index = apps.firstIndex(where: { $0.package == package }) {
                apps[index].fingerprints.append(fingerprint)
            } else {
                apps.append(AndroidApp(package: package, fingerprints: [fingerprint]))
            }
        }
        self.init(origin: origin, appleAppIDs: appleAppIDs, androidApps: apps)
    }
}
