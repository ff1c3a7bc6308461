import Glibc
import Reactor

/// A cache of TLS contexts by authority file (nil: the system's). Files are read on a helper thread, and again when they have changed. Use
/// only on the reactor's thread.
final class TLSContextCache {
    typealias Answer = Result<TLSContext, TransferFailure>

    /// A file is checked for changes at most once in this time.
    private static let checkInterval = Duration.seconds(30)

    private enum Entry {
        /// The file is being read for the first time; the callers that wait for it.
        case loading([(Answer) -> Void])
        case loaded(TLSContext, FileStamp, checkedAt: MonotonicInstant)
    }

    private let reactor: Reactor
    private let checkInterval: Duration
    private var entries: [String?: Entry] = [:]

    init(reactor: Reactor, checkInterval: Duration = TLSContextCache.checkInterval) {
        self.reactor = reactor
        self.checkInterval = checkInterval
    }

    /// Calls `onAnswer` on the reactor's thread, before this returns if the file was read before. While a changed file is read, callers get
    /// the earlier context.
    func context(_ authorityFile: String?, onAnswer: @escaping (Answer) -> Void) {
        switch entries[authorityFile] {
        case .loading(let others): entries[authorityFile] = .loading(others + [onAnswer])
        case .loaded(let context, let stamp, let checkedAt):
            if checkedAt.duration(to: .now) >= checkInterval {
                entries[authorityFile] = .loaded(context, stamp, checkedAt: .now)
                load(authorityFile, unless: stamp)
            }
            onAnswer(.success(context))
        case nil:
            entries[authorityFile] = .loading([onAnswer])
            load(authorityFile, unless: nil)
        }
    }

    private func load(_ authorityFile: String?, unless known: FileStamp?) {
        let cache = ReactorBound(self, to: reactor)
        let isRunning = HelperThread.run {
            let stamp = FileStamp(authorityFile.map { [$0] } ?? TLSContext.systemPaths)
            guard stamp != known else { return }
            let answer = ReactorBound(
                Answer { () throws(TransferFailure) in try TLSContext(authorityFile: authorityFile) }, to: cache.reactor)
            cache.submit { $0.loaded(authorityFile, answer.current, stamp) }
        }
        if !isRunning { loaded(authorityFile, .failure(TransferFailure(kind: .other)), FileStamp([])) }
    }

    /// If reading a changed file fails, the earlier context is kept and the file is checked again later: it may be half written.
    private func loaded(_ authorityFile: String?, _ answer: Answer, _ stamp: FileStamp) {
        let before = entries[authorityFile]
        if case .success(let context) = answer {
            entries[authorityFile] = .loaded(context, stamp, checkedAt: .now)
        } else if case .loading? = before {
            entries[authorityFile] = nil
        }
        if case .loading(let waiting)? = before { for onAnswer in waiting { onAnswer(answer) } }
    }
}

/// The identity and state of files, by which a change is detected: device, inode, size and modification time.
struct FileStamp: Equatable {
    private struct File: Equatable {
        var device: UInt
        var inode: UInt
        var size: Int
        var seconds: Int
        var nanoseconds: Int
    }

    /// Nil for a file that does not exist.
    private var files: [File?]

    /// Reads the state of the files. Blocks: do not call on the reactor's thread.
    init(_ paths: [String]) {
        files = paths.map { path in
            var status = stat()
            guard stat(path, &status) == 0 else { return nil }
            return File(
                device: UInt(status.st_dev), inode: UInt(status.st_ino), size: Int(status.st_size), seconds: status.st_mtim.tv_sec,
                nanoseconds: status.st_mtim.tv_nsec)
        }
    }
}
