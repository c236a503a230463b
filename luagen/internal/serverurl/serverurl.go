// Package serverurl reads the URL of a server.
package serverurl

import (
	"cmp"
	"errors"
	"net"
	"net/url"
)

const (
	// Variable is the environment's variable that may have the URL.
	Variable = "HASP_URL"
	// Default is the URL if none is given.
	Default = "redis://127.0.0.1:6379"
)

// Parse returns the URL of the flag, or of the variable, which the flag may name. Errors have no part of it, which may be a
// password.
func Parse(given, variable string) (*url.URL, error) {
	if given == Variable {
		if given = ""; variable == "" {
			return nil, errors.New(Variable + " is not set")
		}
	}
	u, err := url.Parse(cmp.Or(given, variable, Default))
	if err != nil || u.Scheme != "redis" && u.Scheme != "rediss" {
		return nil, errors.New("the URL is none of redis://user@host:port or rediss://...; in a password write %2F for /")
	}
	if _, found := u.User.Password(); found && given != "" {
		return nil, errors.New("-url has a password, which all users of this machine could read: use " + Variable)
	}
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), "6379")
	}
	return u, nil
}
