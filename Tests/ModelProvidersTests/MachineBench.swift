import CoachCore
import TokenRelay

@testable import ModelProviders

/// Machines that have come so far.
enum MachineBench {
    static let start = MonotonicInstant.now

    static let stages = ["idle", "requesting", "refusing", "accepted", "pausing", "unreleased", "releasing", "ended"]

    /// A machine that has not begun.
    static func idle(choices: Int, limits: CallLimits = CallLimits()) -> FailoverMachine {
        FailoverMachine(providers: ["a", "b", "c", "d"].prefix(choices).map { $0 }, limits: limits, start: start)
    }

    /// A machine at the named stage, at the start's instant.
    static func at(_ stage: String, choices: Int = 1) -> FailoverMachine {
        var machine = idle(choices: choices)
        if stage == "idle" { return machine }
        _ = machine.begin(at: start)
        switch stage {
        case "refusing": _ = machine.refused(at: start)
        case "accepted": _ = machine.accepted()
        case "pausing": _ = machine.failed(refusal(mayRetry: true), at: start)
        case "unreleased", "releasing":
            _ = machine.accepted()
            _ = machine.receivedText(1, at: start)
            if stage == "releasing" { machine.released(ReleaseState(isReleased: true)) }
        case "ended": _ = machine.cancelled()
        default: break
        }
        return machine
    }

    static func refusal(_ detail: String = "refused", mayRetry: Bool = false, retryAfter: Duration? = nil) -> AttemptFailure {
        AttemptFailure(fault: ModelFault(kind: .refused, detail: detail), mayRetry: mayRetry, retryAfter: retryAfter, blamesProvider: true)
    }
}

extension FailoverMachine.Action {
    /// The kind of the fault that ends the call.
    var fault: ModelFault.Kind? {
        if case .end(.failed(let fault)) = self { fault.kind } else { nil }
    }
}
