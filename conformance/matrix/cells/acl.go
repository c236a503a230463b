package cells

import "strings"

// ScriptRules are the commands that scripts call, or that are sent in their place.
const ScriptRules = "+decr +decrby +del +exists +get +hdel +hexists +hget +hgetall +hlen +hmget +hset +incr " +
	"+incrby +incrbyfloat +lindex +llen +lpos +lrange +lrem +persist +pexpire +pexpireat +pexpiretime " +
	"+pttl +rpush +set +time +type +zadd +zcard +zcount +zmscore +zrange +zrangebyscore +zrank +zrem " +
	"+zremrangebyrank +zremrangebyscore +zscore"

// ClusterCommands are what clients of a cluster need besides.
const ClusterCommands = "+cluster|slots +cluster|shards +pubsub|shardnumsub " +
	"+ssubscribe +sunsubscribe +spublish"

// ACLRules are those of docs/operations.md, for names that begin with prefix, which may be in braces, or before them.
func ACLRules(prefix string) string {
	return "-@all " +
		"~" + prefix + "* ~{" + prefix + "* " + sided("~redisson_lock_token:", prefix) +
		sided("~redisson_lock_queue:", prefix) + sided("~redisson_lock_timeout:", prefix) +
		sided("~hasp_lock_deadline:", prefix) + sided("~hasp_lock_holder:", prefix) + sided("~hasp_rwlock_writer:", prefix) +
		sided("~hasp_mutex:", prefix) + sided("&hasp_mutex:", prefix) +
		sided("&redisson_lock__channel:", prefix) + sided("&redisson_rwlock:", prefix) +
		sided("&redisson_sc:", prefix) + sided("&hasp_semaphore:", prefix) +
		sided("&hasp_rate_limiter:", prefix) + sided("&hasp_lock_holder_ch:", prefix) +
		"&redisson_countdownlatch__channel__{" + prefix + "* " +
		"&redisson_countdownlatch__channel__{{" + prefix + "* " +
		"&redisson_countdownlatch__channel__" + prefix + "* " +
		"&{" + prefix + "*:adder-topic &" + prefix + "*:adder-topic " +
		"+evalsha +evalsha_ro +script|load +wait +ping +hello +client|tracking " +
		"+subscribe +unsubscribe +publish " + ScriptRules
}

// sided allows a key or a channel beside names, in braces or not.
func sided(pattern, prefix string) string {
	return pattern + "{" + prefix + "* " + pattern + prefix + "* "
}

// suiteRules are those of a user for the suite, whose own scripts and subscriptions need more.
func suiteRules() string {
	return ACLRules("conf-") + " &{conf-* &conf-* +append +hincrby +sadd +smembers"
}

// User is a server's configuration of the user hasp, whose password is secret, with the rules.
func User(rules string) map[string]string {
	return map[string]string{"user hasp": strings.Join([]string{"on", ">secret", rules}, " ")}
}
