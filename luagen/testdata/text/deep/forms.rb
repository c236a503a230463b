# It's Ruby: redis.call('exists', KEYS[1])
=begin
It isn't here: redis.call('exists', KEYS[1])
=end
PATTERN = /['"]/
HEREDOC = <<~LUA.strip
  local n = redis.call('incr', KEYS[1])
  if redis.call('exists', KEYS[1]) then return 'heredoc #{name}' end
  return n
LUA
PLAIN = <<-'LUA'
  if redis.call('exists', KEYS[1]) then return '#{plain}' .. '\n' end return 0
LUA
DOUBLE = "if redis.call('exists', KEYS[1]) then\n return 'double' end return 0"
SINGLE = 'if redis.call("exists", KEYS[1]) then return \'single\' end return 0'
PERCENT = %q{if redis.call('exists', KEYS[1]) then return 'percent' end return 0}
SEVERAL = 'local n = 1
if redis.call("exists", KEYS[1]) then return n end return 0'

MADE = "if redis.call('exists', #{key}) then return 1 end return 0" # named
