package primitives

// The names of side keys and channels are Redisson's.
const (
	lockChannel  = "redisson_lock__channel"
	lockTokenKey = "redisson_lock_token"

	readWriteChannel = "redisson_rwlock"
	waitingWriterKey = "hasp_rwlock_writer" // Redisson has none.

	semaphoreChannel = "redisson_sc"
	latchChannel     = "redisson_countdownlatch__channel__"
)
