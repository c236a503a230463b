package primitives

// The names of side keys and channels are Redisson's.
const (
	lockChannel  = "redisson_lock__channel"
	lockTokenKey = "redisson_lock_token"

	fairQueueKey    = "redisson_lock_queue"
	fairTimeoutsKey = "redisson_lock_timeout"

	readWriteChannel  = "redisson_rwlock"
	waitingWritersKey = "hasp_rwlock_writer" // Redisson has none.

	semaphoreChannel = "redisson_sc"
	latchChannel     = "redisson_countdownlatch__channel__"
	latchPartsKey    = "hasp_latch_parts" // Redisson has none.

	idAllocationKey = ":allocation" // behind the name
)

// Of a Lock with Metadata. Redisson has no such key and no such channel, and does not see them.
const (
	lockHolderKey     = "hasp_lock_holder"
	lockHolderChannel = "hasp_lock_holder_ch" // of grants
)

const permitLeasesKey = ":timeout" // behind the name

// Redisson has no such keys, and does not see them.
const fairDeadlinesKey = "hasp_lock_deadline"

// Redisson has no counting semaphore.
const (
	countingChannel    = "hasp_semaphore"
	countingQueueKey   = ":owner"   // behind the name
	countingCounterKey = ":counter" // behind the name
)

// Of rate limiters. Redisson has no channel: its processes wait only by time.
const (
	rateValueKey   = ":value"   // behind the name
	ratePermitsKey = ":permits" // behind the name
	rateChannel    = "hasp_rate_limiter"
)

// Adders' suffixes, after the name and after the id of a request.
const (
	adderTopic        = ":adder-topic"
	formerAdderTopic  = ":topic" // of Redisson before 3.38
	adderCounterKey   = ":counter"
	adderSemaphoreKey = ":semaphore"
)

// jobRecordKey is where a [PeriodicJob] records its last completed period. Redisson has no such jobs.
const jobRecordKey = ":completed" // behind the name

// memoRecordKey is where a [Memo] keeps the result of a key. Redisson has no memos.
const memoRecordKey = ":memo" // behind the name

// plainLockChannel is the channel of a [PlainLock]. Other programs' locks have no channel.
const plainLockChannel = "hasp_plain_lock"

// Redisson has no mutex.
const (
	mutexKey      = "hasp_mutex"
	mutexTokenKey = ":token" // these follow mutexKey and the name
	mutexQueueKey = ":queue"
	mutexSignsKey = ":signs"
	mutexChannel  = ":granted"
)
