package extend

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

// Rights are what the server's user needs for the objects of one kind. The words of each field are separated by
// spaces. In the names of keys and channels, $ stands for the object's key, which is the client's prefix and the name,
// and @ for [Tagged] of it.
type Rights struct {
	Commands string // that the scripts call, other than PUBLISH
	Keys     string // such as "$ door_opener:@"
	Channels string // such as "door:@"
}

// The commands that each object needs, and those for its messages.
const (
	runCommands     = "evalsha evalsha_ro script|load type"
	messageCommands = "publish subscribe unsubscribe"
)

// right is one right, as the server's ACL has it: +command, ~key or &channel.
type right struct {
	asked string // with the object's name
	rule  string // with a pattern, for objects whose names have the same beginning
}

// WithRights returns o with the rights that its user needs. The error of a call that lacks a right then names
// all missing rights of the object.
func (o Object) WithRights(r *Rights) Object {
	o.rights = r
	return o
}

// AsksRights reports whether an acquire of o must ask the server for the rights of its release, too. Pass the answer to
// [Object.NoteRights]. It is false once a client has noted them for one object with the same [Rights]: commands are the
// same for all names.
func (o *Object) AsksRights() bool {
	_, noted := o.core.rights.Load(o.rights)
	return !noted
}

// NoteRights notes, if granted, that an acquire has asked for the rights of its release, and was granted. The client
// forgets this when the server refuses a call on an object with the same [Rights] because its user lacks a right.
func (o *Object) NoteRights(granted bool) {
	if granted && o.rights != nil {
		o.core.rights.Store(o.rights, nil)
	}
}

// Rights returns the rights that the server's user needs for the object, as rules of ACL SETUSER: +command, ~pattern for
// keys and &pattern for channels. The patterns are for all names with the same beginning, up to the first colon. For a
// name without a colon, patterns of its side keys and channels are for all names. The options Replicas and
// Metadata, and the driver, need more: see docs/operate/acl.md. Rights sends nothing.
func (o *Object) Rights() []string {
	rules := []string{}
	for _, r := range o.allRights() {
		rules = append(rules, r.rule)
	}
	return slices.Compact(rules)
}

// MissingRights asks the server which of [Object.Rights] its user lacks. It takes one round trip, or one more for each
// key of the object that the user may not use. If the user may use none of these keys, or may not run scripts, it
// returns only these rights: grant them, and ask again. In a cluster it asks the node that has the object.
// Use it within [Call].
func (o *Object) MissingRights(ctx context.Context) (rules []string, err error) {
	all := o.allRights()
	asked := make([]string, len(all))
	for i, r := range all {
		asked[i] = r.asked
	}
	for _, r := range all {
		key, isKey := strings.CutPrefix(r.asked, "~")
		if !isKey {
			continue
		}
		places, err := script.RightsMissing(ctx, o.core.calls, key, asked)
		switch {
		case errors.Is(err, backend.ErrKeyDenied):
			rules = append(rules, r.rule)
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

// refusedCommand returns the right to the command that the server refused, or err if it is another error.
func refusedCommand(err error) ([]string, error) {
	if lacks := deniedCommand.FindStringSubmatch(err.Error()); lacks != nil {
		return []string{"+" + strings.ToLower(lacks[1])}, nil
	}
	return nil, err
}

// allRights returns the rights of o: commands first.
func (o *Object) allRights() (all []right) {
	if o.rights == nil {
		return nil
	}
	commands := runCommands
	if o.rights.Channels != "" {
		commands += " " + messageCommands
	}
	for _, command := range append(strings.Fields(commands), strings.Fields(o.rights.Commands)...) {
		if o.core.can.Sharded && slices.Contains(strings.Fields(messageCommands), command) {
			command = "s" + command
		}
		all = append(all, right{"+" + command, "+" + command})
	}
	for sort, names := range []string{o.rights.Keys, o.rights.Channels} {
		for _, name := range strings.Fields(names) {
			r := namedRight(name, o.core.opts.KeyPrefix+o.id.Object.Name)
			if suffix, bare := strings.CutPrefix(name, "@"); bare && sort == 1 {
				r.rule += suffix // Other channels of the application may begin like the name.
			}
			all = append(all, right{"~&"[sort:sort+1] + r.asked, "~&"[sort:sort+1] + r.rule})
		}
	}
	return all
}

// namedRight returns the name and the pattern of one of the names in [Rights], for the object with the given key.
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

var (
	// denied matches the errors of the scripts' function may.
	denied = regexp.MustCompile(`^the user has no right to (\w+) (.*)$`)

	// deniedCommand matches the server's error for a command.
	deniedCommand = regexp.MustCompile(`no permissions to run the '([^']+)' command`)

	// channelPattern finds the beginning that all channels of a kind share.
	channelPattern = regexp.MustCompile(`^\w+:?`)
)

// lackOfRight adds to err, whose cause is the server's refusal, the command with which an administrator grants the
// missing rights. It asks the server for these, since refusals of keys, and those of Redis 7.0, name nothing.
func (o *Object) lackOfRight(ctx context.Context, refusal *backend.ServerError, err error) error {
	o.core.rights.Delete(o.rights)
	ctx, cancel := context.WithTimeout(ctx, questionTimeout)
	defer cancel()
	missing, failed := o.MissingRights(ctx)
	if failed != nil || len(missing) == 0 {
		missing = named(refusal)
	}
	grant := "grant it by ACL SETUSER <user> " + strings.Join(missing, " ")
	switch {
	case len(missing) == 0:
		return fmt.Errorf("%w; docs/operate/acl.md lists the rights that are needed (ACL SETUSER)", err)
	case denied.MatchString(refusal.Message):
		return worded.As(fmt.Sprintf("%v: %s; %s", backend.ErrNoPermission, refusal.Message, grant), err)
	}
	return fmt.Errorf("%w; %s", err, grant)
}

// named returns the right that a refusal names.
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
