import CoreMetrics
import Foundation
import PostgresClient
import Telemetry

/// Metrics of what an instance has little of: connections to the database, time of its reactors, and receipts on disk.
struct ResourceMetrics {
    private struct Pool {
        let client: PostgresClient
        let connections: Gauge
        let inUse: Gauge
        let waiting: Gauge
        let lag: CoreMetrics.Timer
    }

    private let pools: [Pool]

    init(_ databases: Databases) {
        pools = databases.all.map { name, client in
            func gauge(_ label: String) -> Gauge { Gauge(label: label, dimensions: [("pool", name)]) }
            return Pool(
                client: client, connections: gauge("coach_database_connections"), inUse: gauge("coach_database_connections_in_use"),
                waiting: gauge("coach_database_waiting_requests"),
                lag: CoreMetrics.Timer(label: "coach_reactor_lag", dimensions: [("pool", name)]))
        }
    }

    /// Takes one reading. Waits for the reactors, so a scrape of metrics must not.
    func sample() async {
        for pool in pools {
            let load = await pool.client.load()
            pool.connections.record(load.connections)
            pool.inUse.record(load.connectionsInUse)
            pool.waiting.record(load.waitingRequests)
            pool.lag.recordNanoseconds(Int64(load.reactorLag / .nanoseconds(1)))
        }
    }
}

extension PrometheusMetricsFactory {
    /// Adds gauges of the files in the folders of what waits for the database, read at every rendering. They keep their last values while one cannot
    /// be read.
    func addSpoolMetrics(of folders: [URL]) {
        let files = Meter(label: "coach_spool_files", factory: self)
        let bytes = Meter(label: "coach_spool_bytes", factory: self)
        beforeRender {
            let contents = try? folders.flatMap {
                try FileManager.default.contentsOfDirectory(at: $0, includingPropertiesForKeys: [.fileSizeKey])
            }
            guard let contents else { return }
            files.set(contents.count)
            bytes.set(contents.reduce(0) { $0 + ((try? $1.resourceValues(forKeys: [.fileSizeKey]))?.fileSize ?? 0) })
        }
    }
}
