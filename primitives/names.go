package primitives

// The names of side keys and channels are Redisson's.
const (
	lockChannel  = "redisson_lock__channel"
	lockTokenKey = "redisson_lock_token"

	fairQueueKey    = "redisson_lock_queue"
	fairTimeoutsKey = "redisson_lock_timeout"

	readWriteChannel = "redisson_rwlock"
	waitingWriterKey = "hasp_rwlock_writer" // Redisson has none.

	semaphoreChannel = "redisson_sc"
	latchChannel     = "redisson_countdownlatch__channel__"

	idAllocationKey = ":allocation" // behind the name
)

// Redisson has no such keys, and does not see them.
const fairDeadlinesKey = "hasp_lock_deadline"

// What adders have behind the name, and behind the id of a request.
const (
	adderTopic        = ":adder-topic"
	adderCounterKey   = ":counter"
	adderSemaphoreKey = ":semaphore"
)
