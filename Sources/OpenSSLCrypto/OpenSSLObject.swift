/// The owner of an object of OpenSSL, which is freed with it.
// SAFETY: the object is complete before `init`, and freed in `deinit`. Between them its holders only pass it to functions that read it or copy it,
// which OpenSSL allows on several threads.
final class OpenSSLObject: @unchecked Sendable {
    let pointer: OpaquePointer
    private let free: @Sendable (OpaquePointer) -> Void

    /// Nil when there is no object.
    init?(_ pointer: OpaquePointer?, free: @escaping @Sendable (OpaquePointer) -> Void) {
        guard let pointer else { return nil }
        self.pointer = pointer
        self.free = free
    }

    deinit { free(pointer) }
}
