import CoachCore
import HTTPEdge
import Identity

/// Whether this instance may get requests.
struct ReadinessCheck {
    let databases: Databases
    let local: LocalInstance
    let turns: TurnParts
    let tokens: TokenVerifier
    /// Until operators' documents are read, turns would use the shipped ones.
    let documentsAreLoaded: LiveValue<Bool>

    var current: InstanceReadiness {
        InstanceReadiness(
            // Until it is registered it can begin no turn.
            database: databases.areReachable && local.instance.isRegistered && local.schema.isOpen && documentsAreLoaded.current,
            accepting: turns.admission.isOpen,
            writing: turns.lease.takesWrites(),
            saving: local.storage.takesAnswers,
            keys: tokens.isReady,
            details: [
                "turns": "\(turns.registry.count)", "executor_takeover": "\(EventLoopExecutor.isInstalled)",
                "instance": "\(local.instance.id)",
            ])
    }
}
