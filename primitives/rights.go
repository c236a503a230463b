package primitives

import (
	"context"

	"github.com/hasp-go/hasp/primitives/extend"
)

// rights has the permissions for each kind of object, by its name in errors.
var rights = map[string]*extend.Rights{
	"lock":        &lockRights,
	"fenced lock": &lockRights,
	"spin lock":   {Commands: lockRights.Commands, Keys: lockRights.Keys},
	"election":    &describedRights,
	periodicJobKind: {
		Commands: lockRights.Commands, Keys: lockRights.Keys + " @" + jobRecordKey, Channels: lockRights.Channels,
	},
	memoKind: {
		Commands: lockRights.Commands + " hmget", Keys: lockRights.Keys + " " + lockHolderKey + ":@ @" + memoRecordKey,
		Channels: lockRights.Channels,
	},
	"fair lock": {
		Commands: lockRights.Commands + " exists hdel hmget lindex llen lpos lrange lrem rpush zadd zcard zmscore zrange zrem zscore",
		Keys:     lockRights.Keys + " " + fairQueueKey + ":@ " + fairTimeoutsKey + ":@ " + fairDeadlinesKey + ":@",
		Channels: lockRights.Channels,
	},
	"read lock":  &readRights,
	"write lock": &writeRights,
	"mutex": {
		Commands: "del exists get hdel hmget hset pexpire pttl set time zadd zmscore zrange zrank zrem zremrangebyrank",
		Keys: mutexKey + ":@ " + mutexKey + ":@" + mutexTokenKey + " " + mutexKey + ":@" + mutexQueueKey + " " +
			mutexKey + ":@" + mutexSignsKey,
		Channels: mutexKey + ":@" + mutexChannel,
	},
	"plain lock": {Commands: "del get pexpire pttl set", Keys: "$", Channels: plainLockChannel + ":@"},
	"semaphore":  {Commands: numberCommands + " decrby incrby set", Keys: "$", Channels: semaphoreChannel + ":@"},
	"permit semaphore": {
		Commands: numberCommands + " incrby pexpiretime set time zadd zcard zcount zrange zrem zremrangebyscore zscore",
		Keys:     "$ @" + permitLeasesKey, Channels: semaphoreChannel + ":@",
	},
	"counting semaphore": &countingRights,
	"latch":              {Commands: numberCommands + " decr set", Keys: latchKeys, Channels: latchChannels},
	"parts latch":        {Commands: "decr del get hget hset pexpire set", Keys: latchKeys, Channels: latchChannels},
	"atomic long":        {Commands: numberCommands + " incrby set", Keys: "$"},
	"atomic double":      {Commands: numberCommands + " incrbyfloat set", Keys: "$"},
	"id generator":       {Commands: "get incrby set", Keys: "$ @" + idAllocationKey},
	"rate limiter": {
		Commands: "del get hlen hmget hset persist pexpire pttl set time zadd zcard zcount zrange zrem zremrangebyrank " +
			"zremrangebyscore",
		Keys: "$ @" + rateValueKey + " @" + ratePermitsKey, Channels: rateChannel + ":@",
	},
	throttleKind:   {Commands: "del get set time", Keys: "$"},
	"long adder":   {Commands: "incrby " + adderCommands, Keys: adderKeys, Channels: adderChannels},
	"double adder": {Commands: "incrbyfloat " + adderCommands, Keys: adderKeys, Channels: adderChannels},
}

var (
	lockRights = extend.Rights{
		Commands: "del get hexists hget hgetall hlen hset pexpire pttl set time",
		Keys:     "$ " + lockTokenKey + ":@", Channels: lockChannel + ":@",
	}
	// Of a lock with metadata.
	describedRights = extend.Rights{
		Commands: lockRights.Commands, Keys: lockRights.Keys + " " + lockHolderKey + ":@",
		Channels: lockRights.Channels + " " + lockHolderChannel + ":@",
	}
	readWriteRights = extend.Rights{
		Commands: lockRights.Commands + " exists hdel",
		Keys:     lockRights.Keys + " @:owner:rwlock_timeout:1 " + waitingWritersKey + ":@", Channels: readWriteChannel + ":@",
	}
	// Their releases call different commands: see [extend.Object.AsksRights].
	readRights, writeRights = readWriteRights, readWriteRights
	countingRights          = extend.Rights{
		Commands: "pexpireat time zadd zcount zrange zrangebyscore zrem zremrangebyscore zscore",
		Keys:     "$", Channels: countingChannel + ":@",
	}
	// Of a counting semaphore by arrival.
	arrivalRights = extend.Rights{
		Commands: countingRights.Commands + " get set zcard",
		Keys:     "$ @" + countingQueueKey + " @" + countingCounterKey, Channels: countingChannel + ":@:owner",
	}
)

const (
	numberCommands = "del get persist pexpire pexpireat pttl"
	adderCommands  = "del get pttl set"
	latchKeys      = "$ " + latchPartsKey + ":@" // CountDownLatch.Delete deletes the parts, too.
	latchChannels  = latchChannel + "{$} " + latchChannel + "@"
	adderKeys      = "@:id" + adderCounterKey + " @:id" + adderSemaphoreKey
	adderChannels  = "@" + adderTopic + " @" + formerAdderTopic + " " + semaphoreChannel + ":@:id" + adderSemaphoreKey
)

// Rights returns the permissions that the server's user needs for the object, as rules of the command ACL SETUSER:
// +command, ~pattern for keys, and &pattern for channels. A pattern is for all objects of the kind whose names, with
// the client's prefix, have the same beginning, up to the first colon; or for all of the kind, if the name has no
// colon. The option Replicas and the driver need further commands: see docs/operate/acl.md. Rights sends nothing.
func (o *object) Rights() []string { return o.base.Rights() }

// MissingRights asks the server which of the [Lock.Rights] its user lacks: nil means none. It is for the start of a
// program, since some permissions are needed only when two callers meet. It takes one round trip, or one more for each
// of the object's keys that the user may not use. If the user may use none of these keys, or may not run scripts, it
// returns only these permissions: grant them, and ask again. In a cluster it asks the node of the object, and each node
// has an access list of its own. It changes nothing. Errors are the same as for other queries, and [ErrNotSupported]
// if the server lacks redis.acl_check_cmd, as miniredis does and Redis before 7.0.
func (o *object) MissingRights(ctx context.Context) ([]string, error) {
	return extend.Call(ctx, &o.base, o.invalid, "query the permissions for", func() ([]string, error) {
		return o.base.MissingRights(ctx)
	})
}
