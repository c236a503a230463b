"""Says that redis.call('exists', KEYS[1]) isn't here."""
import redis

# It's a comment: redis.call('exists', KEYS[1])
TRIPLE = """
local n = redis.call('incr', KEYS[1])
if redis.call('exists', KEYS[1]) then return 'triple' end
return n
"""
SINGLE = r.register_script('''if redis.call("exists", KEYS[1]) then return 'single' end return 0''')
ADJACENT = (
    "if redis.call('exists', KEYS[1]) then "
    "return 'adjacent' end "
    "return 0"
)
RAW = r"if redis.call('exists', KEYS[1]) then return 'raw \n' end return 0"
FSTRING = f"if redis.call('exists', KEYS[1]) then return {{'f', 'of:{name}:x'}} end return 0"
SUM = "if redis.call('exists', KEYS[1]) then return 1 end " + 'return 0'

made = f"if redis.call('exists', {key}) then return 1 end return 0"  # named
percent = "if redis.call('exists', '%s') then return 1 end return 0" % key  # named
formatted = "if redis.call('exists', '{}') then return 1 end return 0".format(key)  # named
accepted = f"if redis.call('exists', {key}) then return 1 end return 0"  # luagen:unseen the tests have it
raise ValueError(f"redis.call('exists') takes {what}")
