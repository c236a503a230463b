package extend

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/hasp-go/hasp/backend"
)

var (
	// denied matches the errors of the scripts' function may.
	denied = regexp.MustCompile(`^the user has no right to (\w+) (.*)$`)

	// deniedCommand matches the server's error for a command.
	deniedCommand = regexp.MustCompile(`no permissions to run the '([^']+)' command`)

	// channelPattern finds the beginning that all channels of a kind share.
	channelPattern = regexp.MustCompile(`^\w+:?`)
)

// lackOfRight adds to err, whose cause is the server's refusal, the command with which an
// administrator grants the missing right, as far as the refusal names it.
func lackOfRight(refusal *backend.ServerError, err error) error {
	if lacks := denied.FindStringSubmatch(refusal.Message); lacks != nil {
		text := fmt.Sprintf("%v: %s; grant it by %s", backend.ErrNoPermission, refusal.Message, grantOf(lacks[1], lacks[2]))
		return Worded(text, err)
	}
	if lacks := deniedCommand.FindStringSubmatch(refusal.Message); lacks != nil {
		return fmt.Errorf("%w; grant it by %s", err, grantOf(lacks[1], ""))
	}
	return fmt.Errorf("%w; docs/operations.md lists the rights that are needed (ACL SETUSER)", err)
}

// grantOf returns the command that grants a right. For a channel it grants all channels of its kind.
func grantOf(command, object string) string {
	command = strings.ToLower(command)
	grant := "ACL SETUSER <user> +" + command
	if strings.HasSuffix(command, "publish") && object != "" {
		grant += " &" + channelPattern.FindString(object) + "*"
	}
	return grant
}
