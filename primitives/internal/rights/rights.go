// Package rights knows the permissions that a server's user needs for objects, as the rules of its ACL.
package rights

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/hasp-go/hasp/backend"
	"github.com/hasp-go/hasp/primitives/internal/script"
	"github.com/hasp-go/hasp/primitives/internal/worded"
)

// Needs has the fields of an extend.Rights, which says what they mean.
type Needs struct {
	Commands, Keys, Channels string
	Reads                    bool
}

// The commands that each object needs, those for its messages, and of both those that write.
const (
	runCommands     = "evalsha evalsha_ro script|load type"
	messageCommands = "publish subscribe unsubscribe"
	writeCommands   = "evalsha publish"
)

// right is one permission, as the server's ACL has it: +command, ~key or &channel.
type right struct {
	asked string // with the object's name
	rule  string // with a pattern, for objects whose names have the same beginning
}

// Rights are the permissions for one object.
type Rights []right

// For returns the permissions for the object with the given key: commands first. If sharded is true, messages are those
// of shards.
func (n Needs) For(key string, sharded bool) (all Rights) {
	commands := runCommands
	if n.Channels != "" {
		commands += " " + messageCommands
	}
	for _, command := range append(strings.Fields(commands), strings.Fields(n.Commands)...) {
		if n.Reads && slices.Contains(strings.Fields(writeCommands), command) {
			continue
		}
		if sharded && slices.Contains(strings.Fields(messageCommands), command) {
			command = "s" + command
		}
		all = append(all, right{"+" + command, "+" + command})
	}
	for sort, names := range []string{n.Keys, n.Channels} {
		for _, name := range strings.Fields(names) {
			r := namedRight(name, key)
			if suffix, bare := strings.CutPrefix(name, "@"); bare && sort == 1 {
				r.rule += suffix // Other channels of the application may begin like the name.
			}
			sign, of := "~&"[sort:sort+1], ""
			if n.Reads && sort == 0 {
				of = "%R"
			}
			all = append(all, right{sign + r.asked, of + sign + r.rule})
		}
	}
	return all
}

// namedRight returns the name and the pattern of one of the names in [Needs], for the object with the given key.
func namedRight(name, key string) right {
	at := strings.IndexAny(name, "$@")
	head, tail := name[:at], name[at+1:]
	if name[at] == '@' && !strings.Contains(key, "{") {
		head, tail = head+"{", "}"+tail
	}
	begin, _, parted := strings.Cut(key, ":")
	switch {
	case parted:
		begin += ":"
	case len(head) > 1:
		head, begin = strings.TrimSuffix(head, "{"), ""
	}
	return right{head + key + tail, escaped.Replace(head+begin) + "*"}
}

// escaped escapes what stands for other characters in patterns.
var escaped = strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`)

// Rules returns the permissions as rules of ACL SETUSER.
func (all Rights) Rules() []string {
	rules := []string{}
	for _, r := range all {
		rules = append(rules, r.rule)
	}
	return slices.Compact(rules)
}

// Missing asks the server which of the permissions its user lacks, as a primitive's MissingRights says.
func (all Rights) Missing(ctx context.Context, r backend.ScriptRunner) (rules []string, err error) {
	asked := make([]string, len(all))
	for i, one := range all {
		asked[i] = one.asked
	}
	for _, one := range all {
		key, isKey := strings.CutPrefix(one.asked, "~")
		if !isKey {
			continue
		}
		places, err := script.RightsMissing(ctx, r, key, asked)
		switch {
		case errors.Is(err, backend.ErrKeyDenied):
			rules = append(rules, one.rule)
			continue
		case err != nil:
			return refusedCommand(err)
		}
		rules = nil
		for _, place := range places {
			rules = append(rules, all[place-1].rule)
		}
		break
	}
	return slices.Compact(rules), nil
}

// refusedCommand returns the permission for the command that the server refused, or err if it is another error.
func refusedCommand(err error) ([]string, error) {
	if lacks := deniedCommand.FindStringSubmatch(err.Error()); lacks != nil {
		return []string{"+" + strings.ToLower(lacks[1])}, nil
	}
	return nil, err
}

var (
	// denied matches the errors of the scripts' function may.
	denied = regexp.MustCompile(`^the user may not (\w+) (.*)$`)

	// deniedCommand matches the server's error for a command.
	deniedCommand = regexp.MustCompile(`no permissions to run the '([^']+)' command`)

	// channelPattern finds the beginning that all channels of a kind share.
	channelPattern = regexp.MustCompile(`^\w+:?`)
)

// Explain adds to err, whose cause is the server's refusal, the command with which an administrator grants the
// missing permissions. It asks the server for these, since refusals of keys, and those of Redis 7.0, name nothing.
func (all Rights) Explain(
	ctx context.Context, r backend.ScriptRunner, refusal *backend.ServerError, err error,
) error {
	missing, failed := all.Missing(ctx, r)
	if failed != nil || len(missing) == 0 {
		missing = named(refusal)
	}
	grant := "grant it by ACL SETUSER <user> " + strings.Join(missing, " ")
	switch {
	case len(missing) == 0:
		return fmt.Errorf("%w; docs/operate/acl.md lists the permissions that are needed (ACL SETUSER)", err)
	case denied.MatchString(refusal.Message):
		return worded.New(fmt.Sprintf("%v: %s; %s", backend.ErrNoPermission, refusal.Message, grant), err)
	}
	return fmt.Errorf("%w; %s", err, grant)
}

// named returns the permission that a refusal names.
func named(refusal *backend.ServerError) []string {
	lacks := denied.FindStringSubmatch(refusal.Message)
	if lacks == nil {
		rules, _ := refusedCommand(refusal)
		return rules
	}
	command := strings.ToLower(lacks[1])
	rules := []string{"+" + command}
	if strings.HasSuffix(command, "publish") {
		rules = append(rules, "&"+channelPattern.FindString(lacks[2])+"*")
	}
	return rules
}
