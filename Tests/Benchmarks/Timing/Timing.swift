import Benchmark
import BenchmarkWorkloads
import IdentityWorkloads

/// Times the workloads with a clock, for optimisation work. CI does not check these times but the counts of `deploy/instructions`.
let benchmarks: @Sendable () -> Void = {
    let one = Benchmark.Configuration(
        metrics: [.wallClock, .instructions], warmupIterations: 10, maxDuration: .seconds(2), maxIterations: 20_000)
    let thousand = Benchmark.Configuration(
        metrics: [.wallClock, .instructions], warmupIterations: 10, scalingFactor: .kilo, maxDuration: .seconds(1))

    for workload in Workload.core + Workload.identity {
        Benchmark(workload.name, configuration: workload.batch == .one ? one : thousand) { benchmark, run in
            try run(benchmark.scaledIterations.count)
        } setup: {
            try workload.prepare()
        }
    }
}
