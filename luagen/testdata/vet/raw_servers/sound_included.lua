-- $include(other.lua)
return add(KEYS[1])
