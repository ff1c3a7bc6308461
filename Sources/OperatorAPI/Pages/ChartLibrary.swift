import Foundation

/// Chart.js, which the dashboard draws with. It is Debian's (`libjs-chart.js`), not a part of this product; without it there are tables only.
public struct ChartLibrary: Sendable {
    let script: PageFile?

    /// The installed package; nothing when it is not.
    public static var debian: ChartLibrary {
        let file = FileManager.default.contents(atPath: "/usr/share/javascript/chart.js/chart.min.js")
        return ChartLibrary(script: file.map { PageFile(.script, Array($0)) })
    }
}
