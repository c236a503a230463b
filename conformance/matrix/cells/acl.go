package cells

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/hasp-go/hasp/conformance/must"
)

// aclCommand finds the commands that administrators copy, each on one line.
var aclCommand = regexp.MustCompile(`(?m)^ACL SETUSER app .*$`)

// ACLPage returns the path of the page with these commands.
func ACLPage() string {
	dir := must.Get(os.Getwd())
	for dir != filepath.Dir(dir) && must.Catch(func() { must.Get(os.Stat(filepath.Join(dir, "go.work"))) }) != nil {
		dir = filepath.Dir(dir)
	}
	return filepath.Join(dir, "docs", "operate", "acl.md")
}

// ACLCommands returns the commands of the page: for one server, and what a cluster and Sentinel need besides.
func ACLCommands() (server, cluster, sentinel string) {
	all := aclCommand.FindAllString(string(must.Get(os.ReadFile(ACLPage()))), -1)
	return all[0], all[1], all[2]
}

// ACLRules are those of the page, for names that begin with prefix, which may be in braces, or before them.
func ACLRules(prefix string) string {
	server, _, _ := ACLCommands()
	_, rules, _ := strings.Cut(server, " resetchannels ")
	return strings.ReplaceAll(rules, "app:", prefix)
}

// suiteRules are those of a user for the suite, whose own scripts and subscriptions need more.
func suiteRules() string {
	return ACLRules("conf-") + " &{conf-* &conf-* +append +incr +hincrby +sadd +smembers +scan +client|setname"
}

// User is a server's configuration of the user hasp, whose password is secret, with the rules.
func User(rules string) map[string]string {
	return map[string]string{"user hasp": strings.Join([]string{"on", ">secret", rules}, " ")}
}
