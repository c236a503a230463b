package matrix

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// aclRules are those of docs/guarantees.md, for names that begin with prefix, and may be in braces.
func aclRules(prefix string) []string {
	return strings.Fields("-@all " +
		"~" + prefix + "* ~{" + prefix + "* ~redisson_lock_token:{" + prefix + "* " +
		"&redisson_lock__channel:{" + prefix + "* &redisson_sc:{" + prefix + "* " +
		"&redisson_countdownlatch__channel__{" + prefix + "* " +
		"&redisson_countdownlatch__channel__{{" + prefix + "* " +
		"+evalsha +evalsha_ro +script|load +wait +ping +hello +client|tracking " +
		"+subscribe +unsubscribe +publish " +
		scriptRules)
}

// scriptRules are the commands that scripts call, or that are sent in their place.
const scriptRules = "+decr +decrby +del +exists +get +hexists +hget +hlen +hset +incr " +
	"+incrby +incrbyfloat +persist +pexpire +pexpireat +pttl +set +time +type"

// clusterRules are those in a cluster.
func clusterRules(prefix string) []string {
	return append(aclRules(prefix), strings.Fields(clusterCommands)...)
}

// clusterCommands are what clients of a cluster need besides.
const clusterCommands = "+cluster|slots +cluster|shards +pubsub|shardnumsub " +
	"+ssubscribe +sunsubscribe +spublish"

// suiteRules are those of a user for the suite, whose own scripts and subscriptions need more.
func suiteRules() []string {
	return append(aclRules("conf-"), strings.Fields("&{conf-* &conf-* "+
		"+append +hgetall +hincrby +sadd +smembers +zadd +zscore")...)
}

// TestACLAllowsWhatScriptsCall: a script that calls another command needs another rule.
func TestACLAllowsWhatScriptsCall(t *testing.T) {
	t.Parallel()
	call := regexp.MustCompile(`redis\.p?call\('([a-z_]+)'`)
	paths, err := filepath.Glob(filepath.Join(scripts, "*.lua"))
	require.NoError(t, err)
	called := map[string]bool{}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, match := range call.FindAllStringSubmatch(string(text), -1) {
			called[match[1]] = true
			require.Contains(t, aclRules(""), "+"+match[1], path)
		}
	}
	require.NotEmpty(t, called)
	for _, rule := range strings.Fields(scriptRules) {
		require.True(t, called[rule[1:]], "no script calls %s", rule)
	}
}

// TestACLIsDocumented compares the rules with those of the documentation.
func TestACLIsDocumented(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../docs/guarantees.md")
	require.NoError(t, err)
	documented := strings.Join(strings.Fields(string(text)), " ")
	require.Contains(t, documented, strings.Join(aclRules("app:"), " "))
	require.Contains(t, documented, clusterCommands)
}
