import BenchmarkWorkloads
import IdentityWorkloads

InstructionCounts.main(Workload.identity)
