-- Settings of luacheck for scripts with luagen's annotations.
std = "lua51"
read_globals = {"redis", "server", "KEYS", "ARGV", "bit", "cjson", "cmsgpack", "struct"}
-- luacheck does not know the names that annotations declare; luagen itself finds undeclared ones (113)
-- and the unused functions of scripts, but not of libraries (211).
ignore = {"113", "211"}
