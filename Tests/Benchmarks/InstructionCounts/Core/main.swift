import BenchmarkWorkloads

InstructionCounts.main(Workload.core)
