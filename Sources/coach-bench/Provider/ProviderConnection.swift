import CLibSSL

/// One client of the provider.
struct ProviderConnection {
    enum Phase { case free, head, body, answering }
    var phase = Phase.free
    var head = MessageHead()
    var bodyLeft = 0
    var tokensLeft = 0
    var period: UInt64 = 0
    var pack = 1
    var serial: UInt32 = 0
    /// What the socket did not take.
    var pending: [UInt8] = []
    var isBlocked = false
    /// Stands in `eager`. Outlives the answer: whoever goes through the list takes it out.
    var isEager = false
    var isFirst = true
    /// The closing is on its way: when `pending` is gone the answer is over.
    var isClosing = false
    /// The connection is broken when so many tokens are left; -1: it is not.
    var breaksAt = -1
    /// Its TLS session, if it has one.
    var session: OpaquePointer?
}
