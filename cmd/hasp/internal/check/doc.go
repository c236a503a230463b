// Package check finds what of a server breaks the promises of hasp: [Gather] asks the server, and [Judge] decides by its
// answers alone.
package check
