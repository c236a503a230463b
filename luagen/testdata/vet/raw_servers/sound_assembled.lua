-- What is put in uses the names, and has the functions.
local rcall = redis.call
--- @include "includes/add"
return add(KEYS[1])
