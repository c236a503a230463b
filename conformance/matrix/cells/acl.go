package cells

import "strings"

// ScriptRules are the commands that scripts call, or that are sent in their place.
const ScriptRules = "+decr +decrby +del +exists +get +hdel +hexists +hget +hgetall +hlen +hset +incr " +
	"+incrby +incrbyfloat +persist +pexpire +pexpireat +pttl +set +time +type"

// ClusterCommands are what clients of a cluster need besides.
const ClusterCommands = "+cluster|slots +cluster|shards +pubsub|shardnumsub " +
	"+ssubscribe +sunsubscribe +spublish"

// ACLRules are those of docs/guarantees.md, for names that begin with prefix, and may be in braces.
func ACLRules(prefix string) string {
	return "-@all " +
		"~" + prefix + "* ~{" + prefix + "* ~redisson_lock_token:{" + prefix + "* ~hasp_rwlock_writer:{" + prefix + "* " +
		"&redisson_lock__channel:{" + prefix + "* &redisson_rwlock:{" + prefix + "* " +
		"&redisson_sc:{" + prefix + "* " +
		"&redisson_countdownlatch__channel__{" + prefix + "* " +
		"&redisson_countdownlatch__channel__{{" + prefix + "* " +
		"+evalsha +evalsha_ro +script|load +wait +ping +hello +client|tracking " +
		"+subscribe +unsubscribe +publish " + ScriptRules
}

// ClusterRules are those in a cluster.
func ClusterRules(prefix string) string { return ACLRules(prefix) + " " + ClusterCommands }

// suiteRules are those of a user for the suite, whose own scripts and subscriptions need more, and whose
// names have braces behind a prefix.
func suiteRules() string {
	return ACLRules("conf-") + " &{conf-* &conf-* +append +hincrby +sadd +smembers +zadd +zscore" +
		" ~redisson_lock_token:conf-* ~hasp_rwlock_writer:conf-* &redisson_lock__channel:conf-* " +
		"&redisson_rwlock:conf-* &redisson_sc:conf-*"
}

// User is a server's configuration of the user hasp, whose password is secret, with the rules.
func User(rules string) map[string]string {
	return map[string]string{"user hasp": strings.Join([]string{"on", ">secret", rules}, " ")}
}
