// One of the four files that touch OpenSSL's pointers.

import CLibSSL
import Glibc

/// TLS sessions that servers offered to resume, by peer: a resumed handshake has no certificates and no signature. Belongs to one thread.
///
/// A TLS 1.3 ticket is used once, so that connections cannot be linked by it (RFC 8446 §C.4); each connection brings new ones. A TLS 1.2 session
/// is used as long as it is valid.
// SAFETY: each pointer in `sessions` is one reference that belongs to this object, given by `keep` and freed when it leaves the table.
final class ResumableSessions {
    /// Sessions kept for one peer: as many connections as are opened to it within one round trip.
    static let mostPerPeer = 128
    /// Providers are few.
    private static let mostPeers = 64

    private var sessions: [String: [OpaquePointer]] = [:]

    deinit { for session in sessions.values.joined() { SSL_SESSION_free(session) } }

    /// Takes the reference over.
    func keep(_ session: OpaquePointer, of peer: String) {
        guard sessions[peer] != nil || sessions.count < Self.mostPeers else { return SSL_SESSION_free(session) }
        if sessions[peer]?.count == Self.mostPerPeer, let oldest = sessions[peer]?.removeFirst() { SSL_SESSION_free(oldest) }
        // TLS 1.2: the newest replaces all others.
        if !Self.isForOneUse(session), let older = sessions.removeValue(forKey: peer) { older.forEach { SSL_SESSION_free($0) } }
        sessions[peer, default: []].append(session)
    }

    /// Lends the newest session of a peer that is still valid.
    func withSession(of peer: String, _ body: (OpaquePointer) -> Void) {
        while let session = sessions[peer]?.popLast() {
            let isValid =
                SSL_SESSION_is_resumable(session) == 1
                && SSL_SESSION_get_time(session) + SSL_SESSION_get_timeout(session) > time(nil)
            if isValid { body(session) }
            if isValid, !Self.isForOneUse(session) { sessions[peer]?.append(session) } else { SSL_SESSION_free(session) }
            if isValid { return }
        }
    }

    func count(of peer: String) -> Int { sessions[peer]?.count ?? 0 }

    private static func isForOneUse(_ session: OpaquePointer) -> Bool { SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION }
}
