/** DTO classes that between them use every decorator the kernel knows. */
import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsEnum,
  IsIn,
  IsInt,
  IsNumber,
  IsObject,
  IsOptional,
  IsString,
  Matches,
  Max,
  Min,
  ValidateNested,
} from 'class-validator';
import {
  Doc,
  IsKnownAt,
  IsPosition,
  IsScope,
  IsText,
  IsValue,
  IsWhen,
  OrNull,
} from '#kernel/shape-decorators.js';

export enum Colour {
  red = 'red',
  blue = 'blue',
}

@Doc('One record.')
export class Entry {
  @Doc('From when on it holds.') @IsWhen() effective_from!: string;
  @IsText({ min: 2, max: 12, what: 'a value' }) value!: string;
  @IsOptional() @IsInt() @Min(1) @Max(9) rank?: number;
}

class Base {
  @Doc('How it is called.') @IsText({ max: 40 }) name!: string;
  @IsOptional() @IsKnownAt() known_at?: string;
}

export class Everything extends Base {
  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(3)
  @ValidateNested({ each: true })
  @Type(() => Entry)
  records!: Entry[];
  @IsOptional() @Doc('The best one.') @ValidateNested() @Type(() => Entry) best?: Entry;
  @IsOptional() @IsScope() scope?: Record<string, string>;
  @IsOptional() @IsValue() any?: unknown;
  @IsOptional() @IsArray() @IsValue({}, { each: true }) anys?: unknown[];
  @IsOptional() @IsPosition() at?: string;
  @IsOptional() @IsEnum(Colour) colour?: Colour;
  @IsOptional() @IsIn([1, 2, 3]) level?: number;
  @IsOptional() @IsBoolean() flag?: boolean;
  @IsOptional() @IsNumber() @Min(-1) ratio?: number;
  @IsOptional() @IsArray() @ArrayMaxSize(4) @IsString({ each: true }) tags?: string[];
  @IsOptional() @IsArray() @IsIn(['a', 'b'], { each: true }) letters?: string[];
  @OrNull() @IsText({ max: 5 }) @Matches(/^[^x.]*$/u) note!: string | null;
  @IsOptional() @OrNull() @ValidateNested() @Type(() => Entry) maybe?: Entry | null;
  @IsOptional() @IsObject() facts?: Record<string, unknown>;
}

export class Nothing {}
