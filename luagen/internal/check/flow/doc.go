// Package flow knows Lua, the commands of servers, and what a script does with its values. It knows no rule, and makes no
// finding: what follows a script passes on each use that it sees.
package flow
