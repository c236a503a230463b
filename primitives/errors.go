package primitives

import (
	"errors"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/extend"
	"github.com/hasp-go/hasp/primitives/lease"
)

var (
	// ErrNotAcquired means that another owner holds the object, or that too few permits are free.
	// From a [FairLock] or a [Mutex] it also means that waiters come first, and from a [RedLock] that
	// fewer nodes than a majority granted it. If a context ended the waiting, the error also wraps the
	// context's error.
	ErrNotAcquired = extend.ErrNotAcquired

	// ErrNotHeld means that Release released nothing, because the lease had ended before. From
	// [Lease.Release] the error also wraps the reason: [ErrLost], [ErrReleased] after a second Release,
	// or [ErrClosed] if [Client.Close] ended and released the lease. With ErrLost, or if work went on
	// after Close, another owner may have held the object meanwhile. From [Lock.Holder] it means that
	// the lock is free.
	ErrNotHeld = lease.ErrNotHeld

	// ErrLost means that a lease ended before it was released: the client could not renew it in
	// time, or the server no longer had it. It is matched by a [*LossError], which has the reason, and
	// which is also the cause with which the lease's contexts end.
	ErrLost = lease.ErrLost

	// ErrReleased means that a lease was released. It is also the cause with which the lease's
	// contexts end at Release.
	ErrReleased = lease.ErrReleased

	// ErrClosed means that the client is closed, or its backend or driver. Nothing was sent. From
	// [Lease.Release] together with [ErrNotHeld]: [Client.Close] had ended the lease, and released it
	// if it could. From Lease.Release without ErrNotHeld: the backend or driver was closed first, and
	// the object stays held until the lease ends.
	ErrClosed = backend.ErrClosed

	// ErrUnavailable means that the client could reach no server, or no server that would accept its password
	// or execute the request. The request was not executed, and will not be: the call may be repeated. If a
	// [RedLock] or a [MultiLock] returns it, some servers may have granted their parts, which the
	// clients release.
	ErrUnavailable = backend.ErrUnavailable

	// ErrIndeterminate means that a request was sent and its outcome is unknown: it may have been
	// executed, or may still be executed, once.
	ErrIndeterminate = backend.ErrIndeterminate

	// ErrReplicas means that the lock was free, but that too few replicas acknowledged the grant in
	// time, or that the server could not be asked: see [LockOptions]. The client has released the
	// grant, or is releasing it in the background. After [Lease.Extend] it means the same of the
	// extension: the lease is not longer than before. The error says how many replicas acknowledged.
	// If the server does not know the command WAIT, the error also wraps [backend.ErrNotSupported].
	ErrReplicas = backend.ErrReplicas

	// ErrConflict means that the key holds something else: another kind of primitive, or another
	// program's data. The key was not changed.
	ErrConflict = extend.ErrConflict

	// ErrOverdue means that the watchdog has held leases that it could not renew for two thirds of their
	// length: see [Client.Healthy]. Unless a renewal works, they will be lost.
	ErrOverdue = lease.ErrOverdue

	// ErrUpgrade means that a caller asked for the write lock under a context of its read lease of
	// the same lock: under [Lease.Reenter], or, if the call waits, under [Lease.Context]. It would
	// wait for itself. Nothing was sent, and the read lease is unchanged.
	ErrUpgrade = errors.New("a reader cannot become a writer; release the read lease first")

	// ErrSelfDeadlock means that a caller waits for a lock under a context of its own lease of that
	// lock, [Lease.Context] or a context made from it, also by context.WithoutCancel: it would wait
	// for itself. Under [Lease.Reenter] it re-enters the lock, unless that is of another kind: an
	// [Election], a [PeriodicJob] and the locks of one name, such as [Lock] and [FencedLock], exclude
	// each other, and do not re-enter each other. A goroutine that is to wait for the
	// end of the lease needs a context without the lease. Nothing was sent, and the lease is
	// unchanged.
	ErrSelfDeadlock = lease.ErrSelfDeadlock

	// ErrNoRate means that a rate limiter has no rate: it was not set, it was deleted, or it has
	// expired. If NewRateLimiter has got a rate, Allow and Wait set it.
	ErrNoRate = errors.New("no rate is set; call SetRate, or give NewRateLimiter a rate")

	// ErrAboveRate means that a caller asked for more permits than the rate has in an interval, or than the burst of a
	// [Throttle] has.
	ErrAboveRate = errors.New("more permits than an interval has")

	// ErrSettled means that an [Estimate] was settled before. Nothing was sent.
	ErrSettled = errors.New("the estimate is settled")

	// ErrAboveTotal means that a caller asked for more permits than a permit semaphore has, the
	// free and the taken permits together.
	ErrAboveTotal = errors.New("more permits than there are")

	// ErrNoLatch means that a [PartsLatch] is not there: Init has not set it, it was deleted or has expired, or the
	// server lost it. Whether its parts were counted is not known.
	ErrNoLatch = errors.New("the latch is not there: not set by Init, deleted, expired, or lost by the server")

	// ErrNoLeader means that an [Election] has no leader at present.
	ErrNoLeader = errors.New("there is no leader")

	// ErrResigned is the cause with which the context of an [Election]'s leader ends after
	// [Election.Resign].
	ErrResigned = errors.New("the leader has resigned")

	// ErrClockAhead means that the time that a caller passed to a [PeriodicJob], or the last one that was recorded, is
	// ahead of the server's clock by more than a period. The job did not run, and nothing was recorded. A clock is
	// wrong, or the record is of callers with a longer period: see [PeriodicJob].
	ErrClockAhead = errors.New("the time is too far ahead of the server's clock")

	// ErrNotRun means that the context of [PeriodicJob.Do] or TryDo ended before this replica could run
	// the job: another replica was running it, or no answer had come. This call does not run the job. At
	// shutdown that is no failure. The error also wraps the context's error and the reason, such as
	// [ErrNotAcquired].
	ErrNotRun = errors.New("the job was not run")

	// ErrNotKept means that work of a [Memo] has run, and that its result was not kept: it was too large or could not be
	// encoded, or KeepNothing was called. No caller runs work for that key again until Keep has passed, or [Memo.Forget].
	ErrNotKept = errors.New("work has run, and its result was not kept")

	// ErrOtherFingerprint means that a run, or a result that is kept, for the key of a [Memo] has another
	// [MemoCall].Fingerprint. The caller has not run work.
	ErrOtherFingerprint = errors.New("the key is in use with another fingerprint")

	// ErrUndecodable means that the result that is kept for a key cannot be decoded as the type of a [Memo]. The caller has
	// not run work.
	ErrUndecodable = errors.New("the kept result cannot be decoded")

	// ErrNoPermission means that the server's access list (ACL) denies the user a command, a key or
	// a channel that the object needs. Nothing was written, unless the server lacks redis.acl_check_cmd: an acquire also
	// checks the permissions that its release will need. The error names the missing permission, and how to grant it.
	// docs/operate/acl.md lists the permissions that objects need.
	ErrNoPermission = backend.ErrNoPermission

	// ErrNotSupported means that the server is older than Redis 7.0, or that the server or the
	// backend lacks a feature that the object needs. Nothing was written.
	ErrNotSupported = backend.ErrNotSupported

	// ErrOverflow means that a number would leave the range of its type. The number is unchanged.
	ErrOverflow = backend.ErrOverflow
)

// ReleaseError is the error of Do, of any object that has one, if work was called and the release failed. It matches the
// errors of both. A caller may repeat a Do because of [ErrIndeterminate] or [ErrUnavailable] only if errors.As finds no
// *ReleaseError: see [lease.ReleaseError].
type ReleaseError = lease.ReleaseError

// LossError is the cause with which a lease ends when it is lost. It matches [ErrLost] and its reason, such as
// [LossTaken], with errors.Is.
type LossError = lease.LossError

// LossReason is the reason of a [LossError].
type LossReason = lease.LossReason

// The reasons of a [LossError].
const (
	LossTaken   = lease.LossTaken
	LossGone    = lease.LossGone
	LossOutage  = lease.LossOutage
	LossPaused  = lease.LossPaused
	LossMaxHold = lease.LossMaxHold
	LossExpired = lease.LossExpired
)

// LossReasons returns all reasons of a [LossError].
func LossReasons() []LossReason { return lease.LossReasons() }

// FieldError names an invalid argument or option, and the reason: its fields are Field and Problem.
// Nothing was sent.
type FieldError = extend.FieldError
