// One of the four files that touch OpenSSL's pointers.

import CLibSSL
import Glibc

/// A cache of TLS sessions to resume, by peer: a resumed handshake needs no certificates and no signature. Use on one thread only.
///
/// A TLS 1.3 ticket is used once, so that connections cannot be linked by it (RFC 8446 §C.4); each connection gets new ones. A TLS 1.2
/// session is used as long as it is valid.
// SAFETY: each pointer in `sessions` is one reference that this object owns, passed to `keep` and freed when it is removed from the table.
final class TLSSessionCache {
    /// The most sessions of one peer. Each new connection needs one; more are seldom opened within one round trip.
    static let mostPerPeer = 128
    /// The most peers; there are few providers.
    private static let mostPeers = 64

    private var sessions: [String: [OpaquePointer]] = [:]

    deinit { for session in sessions.values.joined() { SSL_SESSION_free(session) } }

    /// Adds a session; takes ownership of the reference.
    func keep(_ session: OpaquePointer, of peer: String) {
        guard sessions[peer] != nil || sessions.count < Self.mostPeers else { return SSL_SESSION_free(session) }
        if sessions[peer]?.count == Self.mostPerPeer, let oldest = sessions[peer]?.removeFirst() { SSL_SESSION_free(oldest) }
        // TLS 1.2: the newest replaces all others.
        if !Self.isForOneUse(session), let older = sessions.removeValue(forKey: peer) { older.forEach { SSL_SESSION_free($0) } }
        sessions[peer, default: []].append(session)
    }

    /// Calls `body` with the newest valid session of a peer, if there is one.
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

    private static func isForOneUse(_ session: OpaquePointer) -> Bool { SSL_SESSION_get_protocol_version(session) >= TLS1_3_VERSION }
}
